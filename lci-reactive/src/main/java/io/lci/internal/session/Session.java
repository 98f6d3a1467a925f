/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import io.lci.LciRuntime;
import io.lci.am.MessageView;
import io.lci.error.ProtocolException;
import io.lci.internal.core.Thrown;
import io.lci.rpc.RpcExchange.Outcome;
import io.lci.stream.StreamLimits;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.Exceptions;
import reactor.core.publisher.Flux;

/**
 * What goes between this rank and one peer: the exchanges of both, and the frames that carry them.
 * What comes is always taken: whether it may come is the business of the exchanges, which grant it.
 * Loop only.
 */
final class Session {
  private static final Logger LOG = LoggerFactory.getLogger(LciRuntime.class);

  /** Most frames in each direction that are not acknowledged. */
  static final int WINDOW = 256;

  /** Most exchanges of a peer beyond the limits that are being refused. */
  private static final int REFUSALS = 1 << 16;

  private final SessionTable owner;
  private final int peer;
  private final Room room;
  private final FramesIn in;
  private final FramesOut out;
  private boolean scheduled;

  /** Makes the error of those that are told, by what they wait for. */
  private @Nullable Function<String, RuntimeException> failure;

  // Exchanges
  private long lastMine;
  private long lastTheirs;
  private final Map<Long, Exchange> mine = new HashMap<>();
  private final Map<Long, Exchange> theirs = new HashMap<>();
  private final ArrayDeque<Exchange> starting = new ArrayDeque<>();
  private final Places places;

  /**
   * @param bodyBytes most bytes of a frame behind its header
   */
  Session(SessionTable owner, int peer, int bodyBytes) {
    this.owner = owner;
    this.peer = peer;
    this.room = new Room(owner.limits().reassemblyBytes());
    this.places = new Places(peer, owner.limits());
    this.in = new FramesIn(this);
    this.out = new FramesOut(this, in, bodyBytes);
  }

  int peer() {
    return peer;
  }

  SessionTable owner() {
    return owner;
  }

  Home home() {
    return owner.home();
  }

  StreamLimits limits() {
    return owner.limits();
  }

  Room room() {
    return room;
  }

  /** Exchanges under way, in both directions, that were opened. */
  int exchanges() {
    return mine.size() + theirs.size();
  }

  boolean hasFailed() {
    return failure != null;
  }

  // Frames that leave

  /** What leaves; for one subscriber, whose request and cancel come on the loop. */
  Flux<OutFrame> frames() {
    return out.frames();
  }

  /** The exchange has something to say. */
  void enqueue(Exchange exchange) {
    out.enqueue(exchange);
  }

  /** The next task of the loop looks at what may leave. */
  void schedule() {
    if (!scheduled) {
      scheduled = true;
      home().execute(this::drain, () -> {}); // the end of the loop ends all exchanges by itself
    }
  }

  private void drain() {
    scheduled = false;
    out.pump(); // what ends makes places
    for (Exchange next = starting.poll(); next != null; next = starting.poll()) {
      place(next);
    }
    out.pump();
  }

  // Exchanges of this rank

  /** Begins an exchange: its OPEN frame leaves when it has a place. */
  void start(Exchange exchange) {
    starting.add(exchange);
    schedule();
  }

  private void place(Exchange exchange) {
    Function<String, RuntimeException> broken = failure;
    if (exchange.isClosed()) {
      return;
    }
    if (broken != null) {
      exchange.fail(broken.apply(exchange.operation()), Outcome.LOST);
    } else if (places.take(exchange)) {
      enqueue(exchange);
    }
  }

  /** The exchange is about to be opened: its number. */
  long opening(Exchange exchange) {
    mine.put(++lastMine, exchange);
    owner.counters().opened++;
    return lastMine;
  }

  /** The exchange is over, on this side. */
  void closed(Exchange exchange) {
    owner.closed(exchange);
    if (exchange.isOpened()) {
      (exchange.opener ? mine : theirs).remove(exchange.id(), exchange);
      owner.counters().ended++;
    }
    Exchange next = places.leave(exchange);
    if (next != null) {
      enqueue(next);
    }
  }

  // What comes

  /** One message of the peer. */
  void message(MessageView view) {
    if (failure != null) {
      return; // what it sends after the end of the session means nothing
    }
    try {
      InFrame frame = InFrame.of(view);
      out.acknowledged(frame);
      if (frame.type == FrameType.FAREWELL) {
        WireError reason = WireError.of(frame.code, frame.message);
        fail(operation -> reason.at(operation, peer), Outcome.ERROR);
      } else if (frame.type.isNumbered()) {
        in.numbered(frame);
      }
      if (in.isAcknowledgementDue()) {
        schedule();
      }
    } catch (BadFrame e) {
      violated(e.what());
    }
  }

  /** One frame, when its turn has come. */
  void take(InFrame frame) throws BadFrame {
    if (frame.type == FrameType.OPEN) {
      accept(frame);
      return;
    }
    boolean byOpener = frame.has(InFrame.OPENER);
    Exchange exchange = (byOpener ? theirs : mine).get(frame.id);
    if (exchange == null) {
      if (frame.id > (byOpener ? lastTheirs : lastMine)) {
        throw new BadFrame("a frame of exchange " + frame.id + ", which nobody opened");
      }
      return; // it was under way when this side closed the exchange
    }
    guarded(exchange, () -> exchange.arrivals.take(frame));
  }

  /** User code is called in there, and may throw what it must not. */
  void guarded(Exchange exchange, Runnable step) {
    try {
      step.run();
    } catch (Throwable e) {
      Exceptions.throwIfJvmFatal(e);
      Thrown.log(e, what -> LOG.error("{}: uncaught in user code", exchange.operation(), what));
      home().countUncaught();
      exchange.fault(e);
    }
  }

  private void accept(InFrame frame) throws BadFrame {
    if (frame.id <= lastTheirs) {
      throw new BadFrame("exchange " + frame.id + " after " + lastTheirs);
    }
    if (theirs.size() >= limits().streams() + limits().requests() + REFUSALS) {
      throw new BadFrame("too many exchanges");
    }
    lastTheirs = frame.id;
    Exchange exchange = Exchange.theirs(this, frame);
    theirs.put(frame.id, exchange);
    owner.counters().opened++;
    int most = places.takeTheirs(exchange);
    if (most > 0) {
      exchange.refuse(
          WireError.of(
              WireError.EXHAUSTED,
              "rank " + owner.rank() + " serves " + most + " of these at a time: the limit"));
      return;
    }
    exchange.admit(frame);
    guarded(
        exchange,
        () -> {
          owner.accept(exchange, frame);
          exchange.arrivals.take(frame);
        });
  }

  // The end

  /** The peer sends what makes no sense, and nobody knows what it was about. */
  private void violated(String what) {
    owner.violation(peer, what);
    WireError error = WireError.of(WireError.PROTOCOL, what);
    fail(
        operation ->
            new ProtocolException(
                WireError.detail(
                    operation, peer, WireError.PROTOCOL, "it sent what makes no sense: " + what)),
        Outcome.ERROR);
    farewell(error);
  }

  /** The session has failed: the peer is told why, as the last it hears. */
  void farewell(WireError reason) {
    out.farewell(reason);
  }

  /** Ends every exchange, and those to come. */
  void fail(Function<String, RuntimeException> reason, Outcome outcome) {
    if (failure != null) {
      return;
    }
    failure = reason;
    room.close();
    for (List<Exchange> all :
        List.of(
            List.copyOf(mine.values()),
            List.copyOf(theirs.values()),
            places.waiting(),
            List.copyOf(starting),
            out.waiting())) { // there are those that were not opened yet
      for (Exchange exchange : all) {
        guarded(exchange, () -> exchange.fail(reason.apply(exchange.operation()), outcome));
      }
    }
    out.clear();
    starting.clear();
    in.clear();
  }

  /** The peer is gone: from now on that is why calls end, whatever ended the session before. */
  void lost(Function<String, RuntimeException> reason) {
    fail(reason, Outcome.LOST);
    failure = reason;
  }

  @Override
  public String toString() {
    return "session with rank "
        + peer
        + ": "
        + out
        + ", received "
        + in.received()
        + ", exchanges "
        + exchanges()
        + ", waiting "
        + places.waiting().size()
        + (failure == null ? "" : ", failed");
  }
}
