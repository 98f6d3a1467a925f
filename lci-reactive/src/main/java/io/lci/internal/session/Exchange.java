/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import io.lci.LciRuntime;
import io.lci.am.Encoder;
import io.lci.error.LciException;
import io.lci.internal.core.Thrown;
import io.lci.internal.loop.TimerStop;
import io.lci.internal.session.StateTable.State;
import io.lci.rpc.RpcExchange.Outcome;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.Disposable;
import reactor.core.Exceptions;

/**
 * One exchange with a peer: a direction of items each way, each with its own credit and end. What
 * it has to say goes out as frames when the session gives it a turn. Loop only.
 */
final class Exchange {
  private static final Logger LOG = LoggerFactory.getLogger(LciRuntime.class);

  final Session session;
  final Kind kind;
  final String name;

  /** Whether this rank opened it. */
  final boolean opener;

  final Assembly in;

  /** Takes the peer's frames. */
  final Arrivals arrivals = new Arrivals(this);

  /** Makes the frames that leave. */
  final Framer framer;

  @Nullable Outbound<?> out;
  @Nullable Receiver receiver;

  /** 0 until it is opened: numbers are given in the order of opening. */
  private long id;

  boolean sendDone;
  boolean receiveDone;

  /** What comes is thrown away: this rank cancelled, and the peer may not know yet. */
  boolean discarding;

  boolean closed;

  // What is to be sent, besides items
  boolean cancelDue;
  boolean grantDue;
  @Nullable WireError errorDue;

  // The session's marks
  boolean queuedUrgent;
  boolean queuedReady;

  /** Occupies one of the peer's places. */
  boolean placed;

  private Outcome outcome = Outcome.SUCCESS;
  private @Nullable Observed observed;
  private @Nullable Disposable timer;
  private reactor.util.context.Context timerContext = reactor.util.context.Context.empty();

  private Exchange(Session session, Kind kind, String name, boolean opener, OutFrame.Open open) {
    this.session = session;
    this.kind = kind;
    this.name = name;
    this.opener = opener;
    this.framer = new Framer(this, open);
    this.in = new Assembly(this, session.room(), session.limits().itemBytes());
  }

  /** One of this rank, that is not opened yet. */
  static Exchange mine(Session session, OutFrame.Open open, String name) {
    Exchange exchange = new Exchange(session, open.kind(), name, true, open);
    exchange.sendDone = open.kind() == Kind.STREAM;
    return exchange;
  }

  /** One that the peer opened; {@link #admit} follows unless it is refused. */
  static Exchange theirs(Session session, InFrame frame) {
    OutFrame.Open none = new OutFrame.Open(frame.kind, new byte[0], new byte[0], 0);
    Exchange exchange = new Exchange(session, frame.kind, frame.name, false, none);
    exchange.id = frame.id;
    return exchange;
  }

  /** It has a place: gives it what those that are refused do without. */
  void admit(InFrame frame) {
    outbound().credit(frame.credit);
    if (kind == Kind.STREAM) {
      receiveDone = true;
    } else {
      in.allow(1);
    }
  }

  void receiver(Receiver who) {
    receiver = who;
  }

  /** Its sending direction; the opener of a request may send one item unasked. */
  <T> Outbound<T> outbound() {
    Outbound<T> made = new Outbound<>(this, opener ? kind.asksOnce() : kind.isShort());
    out = made;
    if (opener) {
      made.credit(1);
    }
    return made;
  }

  /** Begins to send what this rank answers with, to one that the peer opened. */
  @SuppressWarnings("unchecked") // nothing else was sent
  <T> void answer(
      Publisher<? extends T> source,
      Encoder<? super T> encoder,
      reactor.util.context.Context context) {
    ((Outbound<T>) java.util.Objects.requireNonNull(out)).from(source, encoder, context);
  }

  void observed(Observed by) {
    observed = by;
  }

  /**
   * @param dropping hears what cannot be told otherwise
   */
  void timer(Disposable by, reactor.util.context.Context dropping) {
    timer = by;
    timerContext = dropping;
  }

  void stopTimer() {
    Disposable running = timer;
    if (running != null) {
      timer = null;
      guarded(() -> TimerStop.of(running, timerContext));
    }
  }

  long id() {
    return id;
  }

  /** Its first frame is about to leave; the peer knows it by this number. */
  long open() {
    id = session.opening(this);
    return id;
  }

  boolean isClosed() {
    return closed;
  }

  boolean isOpened() {
    return id != 0;
  }

  String operation() {
    return kind.title + " \"" + name + '"';
  }

  State state() {
    if (closed || (sendDone && receiveDone)) {
      return State.CLOSED;
    }
    if (sendDone) {
      return State.HALF_CLOSED_LOCAL;
    }
    return receiveDone && !discarding ? State.HALF_CLOSED_REMOTE : State.OPEN;
  }

  LciException failure(WireError error) {
    return error.at(operation(), session.peer());
  }

  // What this rank wants

  /** Something may be to be sent. */
  void wake() {
    if (!closed) {
      session.enqueue(this);
    }
  }

  /** There is room for the item whose first part came. */
  void roomCame() {
    grantDue = true;
    wake();
  }

  /** Whoever received wants no more. On the side that opened it this ends the whole exchange. */
  void cancel(Outcome why) {
    if (closed) {
      return;
    }
    if (opener) {
      if (kind == Kind.FORGET && sendDone) {
        return; // it is on its way
      }
      outcome(why);
      if (!isOpened()) {
        stopSending();
        receiveDone = true;
        close();
        return;
      }
    }
    if (opener && !sendDone) {
      stopSending();
      abandon(WireError.of(WireError.CANCELLED, "the caller cancelled"));
    } else if (!receiveDone) {
      cancelDue = true;
      discarding = true;
      in.dispose();
      wake();
    }
  }

  /**
   * Ends both directions, with an error that the peer hears of; or, where this rank has sent its
   * own end already, with a cancel: after that end an error would make no sense.
   */
  void abandon(WireError error) {
    stopSending();
    discarding = true;
    in.dispose();
    if (!sendDone) {
      if (errorDue == null) {
        errorDue = error;
      }
    } else if (!receiveDone) {
      cancelDue = true;
    } else {
      closeIfDone();
    }
    wake();
  }

  /** Refuses what the peer opened, or ends it for a reason of this rank. */
  void refuse(WireError error) {
    if (!closed) {
      outcome(Outcome.ERROR);
      abandon(error);
    }
  }

  void stopSending() {
    Outbound<?> sending = out;
    if (sending != null) {
      sending.cancel();
    }
  }

  /** Ends at once, without a word to the peer. */
  void fail(Throwable reason, Outcome why) {
    if (closed) {
      return;
    }
    outcome(why);
    sendDone = true;
    receiveDone = true;
    stopSending();
    close();
    tell(reason);
  }

  /** User code threw where it must not: the peer hears of it, the subscriber has heard enough. */
  void fault(Throwable thrown) {
    if (!closed) {
      outcome(Outcome.ERROR);
      abandon(WireError.ofUser(thrown));
    }
  }

  void tell(Throwable reason) {
    Receiver to = receiver;
    if (to != null) {
      guarded(() -> to.error(reason));
    }
  }

  /** User code that must not throw, and may: what is under way here goes on. Any thread. */
  void guarded(Runnable step) {
    try {
      step.run();
    } catch (Throwable e) {
      Exceptions.throwIfJvmFatal(e);
      Thrown.log(e, what -> LOG.error("{}: uncaught in user code", operation(), what));
      session.home().countUncaught();
    }
  }

  void outcome(Outcome why) {
    if (outcome == Outcome.SUCCESS) {
      outcome = why;
    }
  }

  void closeIfDone() {
    if (sendDone && receiveDone && errorDue == null && !cancelDue) {
      close();
    }
  }

  void close() {
    if (closed) {
      return;
    }
    closed = true;
    in.dispose();
    stopTimer();
    session.closed(this);
    if (observed != null) {
      observed.ended(outcome);
    }
  }

  /** How far it came, for whoever waited too long. */
  String progress() {
    if (!isOpened()) {
      return placed ? "not sent yet" : "waiting for a place: see StreamLimits.requests";
    }
    Outbound<?> sending = out;
    return sendDone || sending == null || sending.isAtEnd()
        ? "sent; " + in.received() + " items came back"
        : sending.sent() + " items sent, " + in.received() + " came back";
  }
}
