/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import io.lci.am.Message;
import io.lci.error.LciException;
import io.lci.error.ProtocolException;
import io.lci.error.ResourceExhaustedException;
import io.lci.internal.session.StateTable.Cell;
import io.lci.internal.session.StateTable.Event;
import io.lci.internal.session.StateTable.Verdict;
import io.lci.rpc.RpcExchange.Outcome;

/** What the peer's frames do to an exchange: as {@link StateTable} says. Loop only. */
final class Arrivals {
  private final Exchange exchange;

  Arrivals(Exchange exchange) {
    this.exchange = exchange;
  }

  /** One frame of the peer, in order. */
  void take(InFrame frame) {
    try {
      switch (frame.type) {
        case OPEN, DATA -> item(frame);
        case COMPLETE -> complete(frame.count);
        case ERROR -> error(frame);
        case CANCEL -> cancelled();
        case CREDIT -> credit(frame);
        default -> throw new BadFrame("a frame that belongs to no exchange");
      }
    } catch (BadFrame e) {
      violated(e.what());
    }
  }

  private boolean takes(Event event) throws BadFrame {
    if (exchange.discarding && event != Event.ERROR && event != Event.CANCEL) {
      return false;
    }
    Cell cell = StateTable.cell(exchange.state(), event);
    if (cell.verdict() == Verdict.VIOLATION) {
      throw new BadFrame(event + " in state " + exchange.state());
    }
    return cell.verdict() == Verdict.TAKE;
  }

  private void item(InFrame frame) throws BadFrame {
    if (frame.type == FrameType.OPEN && !frame.has(InFrame.ITEM)) {
      return;
    }
    if (!takes(Event.NEXT)) {
      return;
    }
    byte[] bytes;
    try {
      bytes = exchange.in.take(frame);
    } catch (Assembly.TooLarge e) {
      LciException reason =
          new ResourceExhaustedException(
              WireError.detail(
                  exchange.operation(),
                  exchange.session.peer(),
                  WireError.EXHAUSTED,
                  String.valueOf(e.getMessage())));
      exchange.outcome(Outcome.ERROR);
      exchange.abandon(WireError.of(WireError.EXHAUSTED, String.valueOf(e.getMessage())));
      exchange.tell(reason);
      return;
    }
    boolean last = frame.has(InFrame.LAST);
    if (bytes == null) {
      if (last) {
        throw new BadFrame("the end of an item that is not there");
      }
      return;
    }
    if (!last && onlyOne()) {
      throw new BadFrame("an only item that is not the last");
    }
    if (last && frame.count != exchange.in.received()) {
      throw new BadFrame(exchange.in.received() + " items came, not " + frame.count);
    }
    exchange.session.owner().counters().itemsReceived++;
    if (last) {
      exchange.receiveDone = true; // before user code hears of the item
    }
    Receiver to = exchange.receiver;
    if (to != null) {
      to.item(new Message(exchange.session.peer(), 0, bytes));
      exchange.in.dispose(); // its room is free
      if (last) {
        to.complete();
      }
    }
    if (last) {
      exchange.closeIfDone();
    } else {
      exchange.wake();
    }
  }

  /** Whether what comes is a single item. */
  private boolean onlyOne() {
    return exchange.opener ? exchange.kind.isShort() : exchange.kind.asksOnce();
  }

  private void complete(long count) throws BadFrame {
    if (!takes(Event.COMPLETE)) {
      return;
    }
    if (exchange.in.isPartial()
        || count != exchange.in.received()
        || (!exchange.opener && exchange.kind.asksOnce())) {
      throw new BadFrame("the end after " + exchange.in.received() + " items, not " + count);
    }
    exchange.receiveDone = true;
    Receiver to = exchange.receiver;
    if (to != null) {
      to.complete();
    }
    exchange.closeIfDone();
  }

  private void error(InFrame frame) throws BadFrame {
    if (!takes(Event.ERROR)) {
      return;
    }
    WireError error = new WireError(frame.code, frame.message, frame.has(InFrame.USER));
    boolean cancelledThere = !error.user() && error.code().equals(WireError.CANCELLED);
    exchange.errorDue = null;
    exchange.cancelDue = false;
    Receiver to = exchange.receiver;
    if (exchange.opener && exchange.kind == Kind.FORGET && exchange.sendDone && to != null) {
      exchange.guarded(to::complete); // the task that says so may still wait behind others
    }
    exchange.fail(exchange.failure(error), cancelledThere ? Outcome.CANCELLED : Outcome.ERROR);
  }

  private void cancelled() throws BadFrame {
    if (!takes(Event.CANCEL)) {
      return;
    }
    if (!exchange.opener) {
      exchange.outcome(Outcome.CANCELLED);
    }
    exchange.stopSending();
    exchange.sendDone = true;
    exchange.closeIfDone();
  }

  private void credit(InFrame frame) throws BadFrame {
    Outbound<?> sending = exchange.out;
    if (exchange.closed || exchange.sendDone || exchange.errorDue != null) {
      return;
    }
    if (sending == null) {
      throw new BadFrame("credit for what is not sent");
    }
    if (frame.has(InFrame.GRANT)) {
      if (!sending.isWaiting()) {
        throw new BadFrame("room for an item that does not wait");
      }
      sending.granted();
    }
    if (frame.credit > 0 && !sending.credit(frame.credit)) {
      throw new BadFrame("more credit than can be counted");
    }
    exchange.wake();
  }

  /** The peer's frame makes no sense here: this exchange ends, the session lives on. */
  private void violated(String what) {
    exchange.session.owner().violation(exchange.session.peer(), exchange.operation() + ": " + what);
    exchange.outcome(Outcome.ERROR);
    exchange.abandon(WireError.of(WireError.PROTOCOL, what));
    exchange.tell(
        new ProtocolException(
            WireError.detail(
                exchange.operation(),
                exchange.session.peer(),
                WireError.PROTOCOL,
                "rank " + exchange.session.peer() + " sent what makes no sense: " + what)));
  }
}
