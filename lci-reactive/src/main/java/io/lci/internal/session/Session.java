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
import org.reactivestreams.Subscription;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.CoreSubscriber;
import reactor.core.Exceptions;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Operators;

/**
 * What goes between this rank and one peer: frames, numbered in each direction and handed on in the
 * order of their numbers, whatever order they come in.
 *
 * <p>Frames leave one at a time, by turns: what ends or feeds an exchange first, then one frame of
 * each exchange that has one. No frame is made before the sender has room for it, and none that is
 * {@link #WINDOW} ahead of what the peer has acknowledged, so that nothing here grows. What comes
 * is always taken: whether it may come is the business of the exchanges, which grant it. Loop only.
 */
final class Link {
  private static final Logger LOG = LoggerFactory.getLogger(LciRuntime.class);

  /** Most frames in each direction that are not acknowledged. */
  static final int WINDOW = 256;

  /** Acknowledged for its own sake at so many. */
  private static final int ACK_AT = WINDOW / 4;

  /** Most exchanges of a peer beyond the limits that are being refused. */
  private static final int REFUSALS = 1 << 16;

  private final Channels owner;
  private final int peer;
  private final int bodyBytes;
  private final Room room;
  private boolean scheduled;

  /** Makes the error of whoever is told, by what he waits for. */
  private @Nullable Function<String, RuntimeException> failure;

  // Out
  private @Nullable CoreSubscriber<? super OutFrame> wire;
  private long wireDemand;
  private long sent;
  private long acknowledged;
  private @Nullable WireError farewell;
  private final ArrayDeque<Exchange> urgent = new ArrayDeque<>();
  private final ArrayDeque<Exchange> ready = new ArrayDeque<>();

  // In
  private long received;
  private long told;
  private final @Nullable InFrame[] early = new InFrame[WINDOW];

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
  Link(Channels owner, int peer, int bodyBytes) {
    this.owner = owner;
    this.peer = peer;
    this.bodyBytes = bodyBytes;
    this.room = new Room(owner.limits().reassemblyBytes());
    this.places = new Places(peer, owner.limits());
  }

  int peer() {
    return peer;
  }

  Channels owner() {
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

  // The wire

  /** What leaves; for one subscriber, whose request and cancel come on the loop. */
  Flux<OutFrame> frames() {
    return new Flux<>() {
      @Override
      public void subscribe(CoreSubscriber<? super OutFrame> actual) {
        wire = actual;
        actual.onSubscribe(
            new Subscription() {
              @Override
              public void request(long n) {
                wireDemand = Operators.addCap(wireDemand, n);
                schedule();
              }

              @Override
              public void cancel() {
                wireDemand = 0;
                wire = null;
              }
            });
      }
    };
  }

  private void schedule() {
    if (!scheduled) {
      scheduled = true;
      home().execute(this::drain, () -> {}); // the end of the loop ends all exchanges by itself
    }
  }

  private void drain() {
    scheduled = false;
    pump(); // what ends makes places
    for (Exchange next = starting.poll(); next != null; next = starting.poll()) {
      place(next);
    }
    pump();
  }

  private void pump() {
    CoreSubscriber<? super OutFrame> to = wire;
    while (to != null && wireDemand > 0) {
      OutFrame frame = next();
      if (frame == null) {
        return;
      }
      told = received;
      wireDemand--;
      owner.counters().framesSent++;
      to.onNext(frame);
      to = wire;
    }
  }

  private @Nullable OutFrame next() {
    WireError last = farewell;
    if (last != null) {
      farewell = null;
      return OutFrame.farewell(last).numbered(0, received);
    }
    if (failure != null) {
      return null;
    }
    OutFrame frame = sent - acknowledged < WINDOW ? nextOfExchanges() : null;
    if (frame != null) {
      return frame.numbered(++sent, received);
    }
    return received - told >= ACK_AT ? OutFrame.ack().numbered(0, received) : null;
  }

  private @Nullable OutFrame nextOfExchanges() {
    while (true) {
      Exchange exchange = urgent.poll();
      if (exchange != null) {
        exchange.queuedUrgent = false;
        if (!exchange.framer.hasUrgent()) {
          continue;
        }
      } else {
        exchange = ready.poll();
        if (exchange == null) {
          return null;
        }
        exchange.queuedReady = false;
      }
      OutFrame frame = exchange.framer.next(bodyBytes);
      enqueue(exchange); // behind the others
      if (frame != null) {
        return frame;
      }
    }
  }

  /** The exchange has something to say. */
  void enqueue(Exchange exchange) {
    if (!exchange.queuedUrgent && exchange.framer.hasUrgent()) {
      exchange.queuedUrgent = true;
      urgent.add(exchange);
    }
    if (!exchange.queuedReady && exchange.framer.hasReady()) {
      exchange.queuedReady = true;
      ready.add(exchange);
    }
    if (exchange.queuedUrgent || exchange.queuedReady) {
      schedule();
    }
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
      return; // what it sends after the end of the link means nothing
    }
    try {
      InFrame frame = InFrame.of(view);
      acknowledged(frame);
      if (frame.type == FrameType.FAREWELL) {
        WireError reason = WireError.of(frame.code, frame.message);
        fail(operation -> reason.at(operation, peer), Outcome.ERROR);
      } else if (frame.type.isNumbered()) {
        numbered(frame);
      }
      if (received - told >= ACK_AT) {
        schedule();
      }
    } catch (BadFrame e) {
      violated(e.what());
    }
  }

  private void acknowledged(InFrame frame) throws BadFrame {
    int more = frame.ack - (int) acknowledged;
    if (more > sent - acknowledged) {
      throw new BadFrame("an acknowledgement of what was not sent");
    }
    if (more > 0) { // else an older one that came later
      boolean full = sent - acknowledged >= WINDOW;
      acknowledged += more;
      if (full) {
        schedule();
      }
    }
  }

  private void numbered(InFrame frame) throws BadFrame {
    if (frame.number <= received || frame.number > received + WINDOW) {
      throw new BadFrame("frame " + frame.number + " after " + received + " in order");
    }
    int place = (int) (frame.number % WINDOW);
    if (early[place] != null) {
      throw new BadFrame("frame " + frame.number + " twice");
    }
    early[place] = frame;
    while (failure == null) {
      int next = (int) ((received + 1) % WINDOW);
      InFrame due = early[next];
      if (due == null) {
        return;
      }
      early[next] = null;
      received++;
      owner.counters().framesReceived++;
      take(due);
    }
  }

  private void take(InFrame frame) throws BadFrame {
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

  /** The link has failed: the peer is told why, as the last it hears. */
  void farewell(WireError reason) {
    farewell = reason;
    schedule();
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
            List.copyOf(ready))) { // there are those that were not opened yet
      for (Exchange exchange : all) {
        guarded(exchange, () -> exchange.fail(reason.apply(exchange.operation()), outcome));
      }
    }
    urgent.clear();
    ready.clear();
    starting.clear();
    java.util.Arrays.fill(early, null);
  }

  /** The peer is gone: from now on that is why calls end, whatever ended the link before. */
  void lost(Function<String, RuntimeException> reason) {
    fail(reason, Outcome.LOST);
    failure = reason;
  }

  @Override
  public String toString() {
    return "link to rank "
        + peer
        + ": sent "
        + sent
        + ", acknowledged "
        + acknowledged
        + ", received "
        + received
        + ", exchanges "
        + exchanges()
        + ", waiting "
        + places.waiting().size()
        + ", room for "
        + wireDemand
        + (failure == null ? "" : ", failed");
  }
}
