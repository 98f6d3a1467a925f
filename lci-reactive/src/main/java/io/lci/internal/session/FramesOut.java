/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import java.util.ArrayDeque;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Operators;

/**
 * The frames of a session that leave, one at a time, by turns: what ends or feeds an exchange
 * first, then one frame of each exchange that has one. No frame is made before the sender has room
 * for it, and none that is {@link Session#WINDOW} ahead of what the peer has acknowledged, so that
 * nothing here grows. Loop only.
 */
final class FramesOut {
  private final Session session;
  private final FramesIn in;
  private final int bodyBytes;
  private @Nullable CoreSubscriber<? super OutFrame> wire;
  private long wireDemand;
  private long sent;
  private long acknowledged;
  private @Nullable WireError farewell;
  private final ArrayDeque<Exchange> urgent = new ArrayDeque<>();
  private final ArrayDeque<Exchange> ready = new ArrayDeque<>();

  /**
   * @param bodyBytes most bytes of a frame behind its header
   */
  FramesOut(Session session, FramesIn in, int bodyBytes) {
    this.session = session;
    this.in = in;
    this.bodyBytes = bodyBytes;
  }

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
                session.schedule();
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

  /** Hands on what the wire has room for. */
  void pump() {
    CoreSubscriber<? super OutFrame> to = wire;
    while (to != null && wireDemand > 0) {
      OutFrame frame = next();
      if (frame == null) {
        return;
      }
      in.acknowledge();
      wireDemand--;
      session.owner().counters().framesSent++;
      to.onNext(frame);
      to = wire;
    }
  }

  private @Nullable OutFrame next() {
    WireError last = farewell;
    if (last != null) {
      farewell = null;
      return OutFrame.farewell(last).numbered(0, in.received());
    }
    if (session.hasFailed()) {
      return null;
    }
    OutFrame frame = sent - acknowledged < Session.WINDOW ? nextOfExchanges() : null;
    if (frame != null) {
      return frame.numbered(++sent, in.received());
    }
    return in.isAcknowledgementDue() ? OutFrame.ack().numbered(0, in.received()) : null;
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
      session.schedule();
    }
  }

  /** A frame of the peer says what the peer has received. */
  void acknowledged(InFrame frame) throws BadFrame {
    int more = frame.ack - (int) acknowledged;
    if (more > sent - acknowledged) {
      throw new BadFrame("an acknowledgement of what was not sent");
    }
    if (more > 0) { // else an older one that came later
      boolean full = sent - acknowledged >= Session.WINDOW;
      acknowledged += more;
      if (full) {
        session.schedule();
      }
    }
  }

  /** The last frame. */
  void farewell(WireError reason) {
    farewell = reason;
    session.schedule();
  }

  /** The exchanges that have something to say, and may not be opened yet. */
  List<Exchange> waiting() {
    return List.copyOf(ready);
  }

  /** Forgets the exchanges. */
  void clear() {
    urgent.clear();
    ready.clear();
  }

  @Override
  public String toString() {
    return "sent " + sent + ", acknowledged " + acknowledged + ", room for " + wireDemand;
  }
}
