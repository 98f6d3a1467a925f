/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.groupstream;

import io.lci.PeerEvent;
import io.lci.collective.StreamOptions;
import io.lci.error.LciClosedException;
import io.lci.error.LciException;
import io.lci.internal.collective.StreamMembers;
import io.lci.internal.loop.LoopSubscription;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.Exceptions;
import reactor.core.publisher.Operators;

/**
 * A stream of a group on one member: its subscriber, its source, and how it ends. Begins with the
 * first request. Loop only.
 *
 * @param <T> type of item
 * @param <R> what is emitted
 */
final class GroupStream<T, R> extends LoopSubscription<R> implements Courier.Sender {
  private final Hub hub;
  private final StreamMembers members;
  private final StreamPlan<T, R> plan;
  private final Shape shape;
  private final Receiving<T> receiving;
  private final Delivery delivery;
  private final Feed<T> feed;
  private final Courier courier;
  private final Stall stall;
  private @Nullable Begun<T> begun;
  private boolean ended;

  /** It is about to end, and the others are told why. */
  private boolean telling;

  /** Items are taken, and go nowhere. */
  private boolean discarding;

  private @Nullable Throwable failure;

  /** The members that are gone, by rank. */
  private final Map<Integer, PeerEvent> departed = new HashMap<>();

  /** What there is from the first request on. */
  private record Begun<T>(long number, OutFrame frames, Sending<T> sending, Reading<T> reading) {}

  GroupStream(
      Hub hub, StreamMembers members, StreamPlan<T, R> plan, CoreSubscriber<? super R> actual) {
    super(hub.loop, actual);
    this.hub = hub;
    this.members = members;
    this.plan = plan;
    this.shape = plan.shape();
    this.receiving = new Receiving<>(shape, plan.codec(), plan.options());
    this.stall = new Stall(shape);
    this.courier = new Courier(loop, members, shape, this);
    this.delivery =
        plan.outlet() == null
            ? new ItemDelivery<>(this, receiving, plan.result())
            : new RoundDelivery<>(this, shape, receiving, plan.outlet().get());
    this.feed = new Feed<>(this, shape, delivery, actual);
  }

  @Override
  public void drain() {
    if (begun == null && !ended && isWanted()) {
      start(); // also if its subscriber has left by now: the others count it
    } else if (begun == null && !ended && isOver()) {
      ended = true;
      members.left();
    }
    Begun<T> now = begun;
    if (now != null && !ended) {
      step(now);
    }
    if (ended) {
      feed.clear();
      Throwable reason = failure;
      if (reason == null) {
        complete();
      } else {
        fail(reason);
      }
    }
  }

  // Its course

  private void start() {
    try {
      if (loop.isClosing()) {
        throw loop.closed(shape.operation());
      }
      members.streamBegan(shape.operation());
    } catch (RuntimeException e) {
      ended = true;
      failure = e;
      members.left();
      return;
    }
    loop.activate(this);
    Begun<T> now = begin(hub.open(members, this));
    begun = now;
    delivery.begin(now.number);
    StreamOptions options = plan.options();
    courier.toOthers(
        now.frames.open(shape.kind(), shape.root(), options.windowItems(), options.windowBytes()));
    OutFlow<T> own = now.sending.to(shape.self());
    if (own != null) {
      own.open(options.windowItems(), options.windowBytes());
    }
    hub.tellEarlier(members, now.number, this);
    if (isOver()) {
      onCancel();
    }
    if (!ended) {
      feed.begin(plan.source());
    }
  }

  private Begun<T> begin(long number) {
    OutFrame frames = new OutFrame(shape.self(), members.id(), number);
    Sending<T> sending =
        new Sending<>(shape, plan.owner(), plan.codec(), frames, courier, hub.frameBytes());
    Reading<T> reading =
        new Reading<>(this, shape, members.device(), receiving, sending, stall, courier);
    return new Begun<>(number, frames, sending, reading);
  }

  private void step(Begun<T> now) {
    try {
      feed.take(now.sending);
      delivery.deliver();
      if (!ended) {
        now.sending.pump(receiving.of(shape.self()));
      }
      delivery.deliver(); // of its own
      if (!ended) {
        receiving.grant(now.frames, courier);
        feed.ask(now.sending, receiving.of(shape.self()));
        if (now.sending.mayPass(receiving.of(shape.self()))) {
          schedule();
        }
      }
    } catch (Throwable e) {
      Exceptions.throwIfJvmFatal(e);
      fault(e);
    }
    endWithoutWhoGaveUp();
    if (!ended && delivery.isDone() && now.sending.isDone() && courier.allHaveLeft()) {
      end(delivery.uneven());
    }
  }

  /** A member that gave up says why, unless it has left. */
  private void endWithoutWhoGaveUp() {
    int rank = delivery.gaveUp();
    PeerEvent missed = rank == Delivery.NOBODY ? null : departed.get(rank);
    if (!ended && missed != null) {
      abort(StreamCause.gone(missed));
    }
  }

  // For its parts

  /** Whether an item that is due may go. */
  boolean takes() {
    return !ended && (demand > 0 || discarding);
  }

  /** To the subscriber, who is there. */
  void give(R item) {
    emit(item);
  }

  /** Something was delivered. */
  void moved() {
    stall.moved();
  }

  void discard(T item) {
    Object given = item instanceof Chunk chunk ? chunk.own() : item;
    if (given != null) {
      Operators.onDiscard(given, actual.currentContext());
    }
  }

  /** This member sends so many items, and needs none beyond them. */
  void stopAt(long items) {
    Begun<T> now = begun;
    if (now != null) {
      feed.cancel();
      now.sending.stopAt(items, this::discard);
      courier.toOthers(now.frames.detach()); // who has not come so far may find it gone
      schedule();
    }
  }

  LciException error(StreamCause cause) {
    return cause.at(shape.operation(), members.device());
  }

  // What comes

  /** A frame of this stream has come. */
  void frame(InFrame frame) {
    Begun<T> now = begun;
    if (!ended && now != null) {
      stall.moved();
      now.reading.read(frame);
      schedule();
    }
  }

  String operation() {
    return shape.operation();
  }

  /** Why it has not moved since this was last asked; null if there is nothing to tell. */
  @Nullable String stall() {
    Begun<T> now = begun;
    boolean keeps = demand == 0 && !discarding && receiving.hasAny();
    return now == null ? null : stall.reason(now.sending, keeps);
  }

  /** Nothing comes of this rank any more. */
  void gone(PeerEvent event) {
    Begun<T> now = begun;
    int member = shape.member(event.rank());
    if (ended || now == null || member < 0) {
      return;
    }
    departed.put(event.rank(), event);
    schedule();
    if (delivery.uneven() != null) { // it needs nothing more, and third ones may
      now.sending.detach(member, this::discard);
      return;
    }
    InFlow<T> from = receiving.of(member);
    OutFlow<T> to = now.sending.to(member);
    if ((from != null && !from.isComplete()) || (to != null && !to.hasEnded())) {
      abort(StreamCause.gone(event));
    }
  }

  @Override
  public void frameLeft() {
    stall.moved();
    if (!ended) {
      schedule();
    }
  }

  @Override
  public void frameLost(LciException problem) {
    fault(problem);
  }

  // The end

  @Override
  public boolean hasEnded() {
    return ended;
  }

  /** It fails here, by what user code threw: the others are told. */
  void fault(Throwable reason) {
    if (!ended && !telling) {
      telling = true; // its text is user code, too
      tell(StreamCause.failed(hub.rank(), reason));
      end(reason);
    }
  }

  /** It fails everywhere for the same reason. */
  void abort(StreamCause cause) {
    tell(cause);
    end(error(cause));
  }

  /** The last words: what they run into themselves is no other end. */
  private void tell(StreamCause cause) {
    Begun<T> now = begun;
    if (now != null) {
      telling = true;
      courier.toOthers(now.frames.abort(cause));
    }
  }

  /** The context was given up: the others hear of that, too. */
  void revoked(StreamCause cause) {
    end(error(cause));
  }

  void end(@Nullable Throwable reason) {
    Begun<T> now = begun;
    if (ended || now == null) {
      return;
    }
    ended = true;
    failure = reason;
    feed.cancel();
    now.sending.clear(this::discard);
    receiving.clear(this::discard);
    delivery.end(reason);
    loop.deactivate(this);
    hub.close(members.id(), now.number);
    members.left();
    members.streamEnded();
    schedule();
  }

  @Override
  protected void onCancel() {
    Begun<T> now = begun;
    if (ended || telling) {
      return;
    }
    if (now == null) {
      schedule(); // it may have been asked for
    } else if (shape.isBroadcast()) {
      detach(now);
    } else if (shape.isInRounds() || plan.options().onCancel() == StreamOptions.OnCancel.DISCARD) {
      discarding = true;
      schedule();
    } else {
      tell(StreamCause.cancelled(hub.rank()));
      end(null);
    }
  }

  /** Of a broadcast, whose other members go on. */
  private void detach(Begun<T> now) {
    if (shape.isSource(shape.self())) {
      now.sending.detach(shape.self(), this::discard);
      receiving.clear(this::discard);
      receiving.leave(shape.self());
      schedule();
    } else {
      courier.send(shape.root(), now.frames.detach());
      end(null);
    }
  }

  /** A stream is no reason for a close to wait. */
  @Override
  protected void onClosing() {
    end(loop.closed(shape.operation()));
  }

  @Override
  protected void onAbort() {
    LciClosedException reason = loop.closed(shape.operation());
    end(reason);
    fail(reason);
  }
}
