/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import io.lci.LciRuntime;
import io.lci.internal.core.Thrown;
import io.lci.internal.session.OutFrame.Part;
import io.lci.rpc.RpcExchange.Outcome;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Makes the frames of an exchange, one at each turn that the session gives it. Loop only. */
final class Framer {
  private static final Logger LOG = LoggerFactory.getLogger(LciRuntime.class);

  /** Most bytes of a frame between its head and an item's. */
  private static final int ITEM_HEAD = Integer.BYTES + Long.BYTES;

  private final Exchange exchange;
  private final OutFrame.Open opening;
  private final int side;

  Framer(Exchange exchange, OutFrame.Open opening) {
    this.exchange = exchange;
    this.opening = opening;
    this.side = exchange.opener ? InFrame.OPENER : 0;
  }

  boolean hasUrgent() {
    return !exchange.closed
        && exchange.isOpened()
        && (exchange.errorDue != null || exchange.cancelDue || exchange.grantDue || toAsk() > 0);
  }

  /** Whether it has an item, a beginning or an end to send. */
  boolean hasReady() {
    if (exchange.closed || exchange.errorDue != null) {
      return false;
    }
    Outbound<?> sending = exchange.out;
    return !exchange.isOpened()
        ? exchange.placed
        : !exchange.sendDone && sending != null && (sending.hasPart() || sending.isAtEnd());
  }

  private int toAsk() {
    Receiver to = exchange.receiver;
    return exchange.receiveDone || exchange.discarding || to == null
        ? 0
        : exchange.in.toAsk(wanted(to));
  }

  private long wanted(Receiver to) {
    Kind kind = exchange.kind;
    if (kind == Kind.FORGET || (!exchange.opener && kind != Kind.CHANNEL)) {
      return 0;
    }
    return kind == Kind.RESPONSE ? Math.min(to.demand(), 1) : to.demand();
  }

  /** The next frame, of at most {@code room} bytes behind its header; null if there is none. */
  @Nullable OutFrame next(int room) {
    if (exchange.closed) {
      return null;
    }
    if (!exchange.isOpened()) {
      return exchange.placed ? open(room) : null;
    }
    WireError error = exchange.errorDue;
    if (error != null) {
      exchange.errorDue = null;
      exchange.cancelDue = false;
      OutFrame frame = OutFrame.error(exchange.id(), side, sent(), error);
      exchange.sendDone = true;
      exchange.receiveDone = true;
      exchange.close();
      return frame;
    }
    if (exchange.cancelDue) {
      exchange.cancelDue = false;
      exchange.receiveDone = true;
      OutFrame frame = OutFrame.cancel(exchange.id(), side);
      exchange.closeIfDone();
      return frame;
    }
    int items = toAsk();
    if (items > 0 || exchange.grantDue) {
      boolean grant = exchange.grantDue;
      exchange.grantDue = false;
      exchange.in.allow(items);
      return OutFrame.credit(exchange.id(), side, items, grant);
    }
    return exchange.sendDone ? null : nextItem(room);
  }

  private @Nullable OutFrame open(int room) {
    Part item = null;
    Outbound<?> sending = exchange.out;
    if (exchange.kind.asksOnce() && sending != null) {
      try {
        item = sending.next(room - opening.bytes() - ITEM_HEAD);
      } catch (RuntimeException e) {
        exchange.outcome(Outcome.ERROR);
        exchange.sendDone = true;
        exchange.receiveDone = true;
        exchange.close();
        exchange.tell(e instanceof TooLong tooLong ? tooLong.reason(exchange) : e);
        return null;
      }
    }
    long id = exchange.open();
    int credit = toAsk();
    exchange.in.allow(credit);
    OutFrame frame = OutFrame.open(id, opening, credit, item);
    if (item != null) {
      partLeft(item);
    }
    exchange.wake();
    return frame;
  }

  private @Nullable OutFrame nextItem(int room) {
    Outbound<?> sending = exchange.out;
    if (sending == null) {
      return null;
    }
    if (sending.hasPart()) {
      try {
        Part part = sending.next(room - ITEM_HEAD);
        OutFrame frame = OutFrame.data(exchange.id(), side, part);
        partLeft(part);
        return frame;
      } catch (RuntimeException e) {
        failedHere(e);
        return next(room);
      }
    }
    if (!sending.isAtEnd()) {
      return null;
    }
    Throwable error = sending.error();
    if (error != null) {
      failedHere(error);
      return next(room);
    }
    exchange.sendDone = true;
    OutFrame frame = OutFrame.complete(exchange.id(), side, sent());
    sendingEnded();
    return frame;
  }

  private void partLeft(Part part) {
    if ((part.flags() & InFrame.CONTINUED) == 0) {
      exchange.session.owner().counters().itemsSent++;
    }
    if ((part.flags() & InFrame.LAST) != 0) {
      exchange.sendDone = true;
      sendingEnded();
    }
  }

  private void sendingEnded() {
    Receiver to = exchange.receiver;
    if (exchange.opener && exchange.kind == Kind.FORGET && to != null) {
      // The answer only frees the place. Not from in here: the frame has not left yet
      exchange.session.home().execute(to::complete, () -> {});
    }
    if (!exchange.opener && !exchange.receiveDone && to instanceof Tap<?> tap && tap.refuse()) {
      exchange.cancel(Outcome.SUCCESS); // nobody will ever take the requests
    }
    exchange.closeIfDone();
  }

  /** The source or its encoder failed: both directions end, here with that very error. */
  private void failedHere(Throwable error) {
    exchange.outcome(Outcome.ERROR);
    exchange.abandon(
        error instanceof TooLong
            ? WireError.of(WireError.EXHAUSTED, String.valueOf(error.getMessage()))
            : WireError.ofUser(error));
    if (!exchange.opener) {
      unheard(error);
    }
    exchange.tell(error instanceof TooLong tooLong ? tooLong.reason(exchange) : error);
  }

  /** Whoever fired and forgot does not hear of it. */
  private void unheard(Throwable error) {
    if (exchange.kind == Kind.FORGET) {
      Thrown.log(
          error,
          e -> LOG.warn("{} of rank {} failed", exchange.operation(), exchange.session.peer(), e));
    }
  }

  private long sent() {
    Outbound<?> sending = exchange.out;
    return sending == null ? 0 : sending.sent();
  }
}
