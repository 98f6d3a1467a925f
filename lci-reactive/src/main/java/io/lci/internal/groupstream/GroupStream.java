/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.groupstream;

import io.lci.PeerEvent;
import io.lci.collective.StreamOptions;
import io.lci.error.LciClosedException;
import io.lci.error.LciException;
import io.lci.error.PeerFailedException;
import io.lci.error.PeerLeftException;
import io.lci.error.PortClosedException;
import io.lci.error.ProtocolException;
import io.lci.internal.collective.StreamMembers;
import io.lci.internal.loop.LoopSubscription;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.Exceptions;
import reactor.core.publisher.Operators;

/**
 * A stream of a group on one member: its subscriber, its source, and what it says to the others.
 * Begins with the first request. Loop only.
 *
 * @param <T> type of item
 * @param <R> what is emitted
 */
final class GroupStream<T, R> extends LoopSubscription<R> implements Wire {
  private final Hub hub;
  private final StreamMembers members;
  private final StreamPlan<T, R> plan;
  private final Shape shape;
  private final Receiving<T> receiving;
  private final Intake<T> intake;
  private final Stall stall;
  private @Nullable Begun<T> begun;
  private boolean ended;

  /** It is about to end, and the others are told why. */
  private boolean telling;

  private boolean discarding;
  private @Nullable Throwable failure;

  /** Of a stream in rounds. */
  private final @Nullable Outlet<T, R> outlet;

  /** Members have no common round any more: it fails when all that others need has left. */
  private @Nullable Throwable uneven;

  /** Rounds of which all items were taken. */
  private long rounds;

  /** Frames that have not left. */
  private int leaving;

  /** What there is from the first request on. */
  private record Begun<T>(long number, OutFrame frames, Sending<T> sending) {}

  GroupStream(
      Hub hub, StreamMembers members, StreamPlan<T, R> plan, CoreSubscriber<? super R> actual) {
    super(hub.loop, actual);
    this.hub = hub;
    this.members = members;
    this.plan = plan;
    this.shape = plan.shape();
    this.receiving = new Receiving<>(shape, plan.codec(), plan.options());
    this.stall = new Stall(shape);
    this.outlet = plan.outlet() == null ? null : plan.outlet().get();
    this.intake = new Intake<>(loop, this, actual.currentContext(), this::discard);
  }

  @Override
  public void drain() {
    if (begun == null && !ended && isWanted() && !terminated) {
      start(); // also if its subscriber has left by now: the others count it
    }
    Begun<T> now = begun;
    if (now != null && !ended) {
      step(now);
    }
    if (ended) {
      intake.discardQueue();
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
      return;
    }
    loop.activate(this);
    long number = hub.open(members, this);
    OutFrame frames = new OutFrame(shape.self(), members.id(), number);
    Sending<T> sending =
        new Sending<>(shape, plan.owner(), plan.codec(), frames, this, hub.frameBytes());
    Begun<T> now = new Begun<>(number, frames, sending);
    begun = now;
    if (outlet != null) {
      outlet.begin(number, this::fault, this::schedule);
    }
    StreamOptions options = plan.options();
    toOthers(frames.open(shape.kind(), shape.root(), options.windowItems(), options.windowBytes()));
    OutFlow<T> own = sending.to(shape.self());
    if (own != null) {
      own.open(options.windowItems(), options.windowBytes());
    }
    hub.tellEarlier(members, number, this);
    if (isOver()) {
      onCancel();
    }
    if (!ended && shape.isSource(shape.self())) {
      intake.subscribeTo(plan.source());
    }
  }

  private void step(Begun<T> now) {
    try {
      takeItems(now.sending);
      deliver();
      if (!ended) {
        now.sending.pump(receiving.of(shape.self()));
      }
      deliver(); // of its own
      if (!ended) {
        receiving.grant(now.frames, this);
        ask(now.sending);
        if (now.sending.mayPass(receiving.of(shape.self()))) {
          schedule();
        }
      }
    } catch (Throwable e) {
      Exceptions.throwIfJvmFatal(e);
      fault(e);
    }
    if (!ended && isReceived() && now.sending.isDone() && leaving == 0) {
      end(uneven);
    }
  }

  /** Whether nothing more is to be delivered. */
  private boolean isReceived() {
    return (uneven != null || receiving.isDone()) && (outlet == null || outlet.isEmpty());
  }

  private void takeItems(Sending<T> sending) {
    boolean last = intake.hasEnded();
    while (!ended) {
      T item = intake.poll();
      if (item == null) {
        break;
      }
      if (uneven != null) {
        discard(item);
      } else {
        takeItem(sending, item);
      }
    }
    if (last && !ended) {
      Throwable error = intake.error();
      if (error != null && uneven == null) {
        fault(error);
      } else {
        sending.completed();
      }
    }
  }

  private void takeItem(Sending<T> sending, T item) {
    try {
      sending.take(item, this::discard);
    } catch (Throwable e) {
      discard(item);
      throw e;
    }
    if (ended) { // by the code that names the owner
      sending.clear(this::discard);
    }
  }

  private void deliver() {
    if (outlet == null) {
      deliverItems();
    } else {
      deliverRounds(outlet);
    }
  }

  private void deliverRounds(Outlet<T, R> of) {
    while (takeOfRound(of) || emitOf(of)) {
      if (ended) {
        return;
      }
    }
  }

  private boolean emitOf(Outlet<T, R> of) {
    R next = demand > 0 || discarding ? of.poll() : null;
    if (next != null) {
      stall.moved();
    }
    if (next != null && !isOver()) {
      emit(next);
    }
    return next != null;
  }

  private boolean takeOfRound(Outlet<T, R> of) {
    Begun<T> now = begun;
    if (uneven != null || now == null || !of.hasRoom()) {
      return false;
    }
    int last = receiving.endsFirst();
    if (last >= 0) {
      differ(now, last, "it has completed, and others go on");
      return false;
    }
    int member = receiving.next();
    InFlow<T> flow = member < 0 ? null : receiving.of(member);
    T item = flow == null ? null : flow.next();
    if (item == null) {
      return false;
    }
    try {
      of.take(member, item);
      rounds += member == shape.size() - 1 ? 1 : 0;
    } catch (Outlet.Uneven e) {
      discard(item);
      differ(now, e.member, "it has " + e.getMessage());
    }
    return true;
  }

  /** Each member finds that for itself, when it has taken the rounds before. */
  private void differ(Begun<T> now, int member, String text) {
    StreamCause cause =
        StreamCause.mismatch(shape.group().worldRank(member), "at element " + rounds + " " + text);
    uneven = cause.at(shape.operation(), members.device());
    intake.cancel();
    now.sending.stopAt(rounds + 1, this::discard);
    toOthers(now.frames.detach()); // who has not come so far may find it gone
    schedule();
  }

  private void deliverItems() {
    while (!ended && (demand > 0 || discarding)) {
      int member = receiving.next();
      InFlow<T> flow = member < 0 ? null : receiving.of(member);
      if (flow == null) {
        return;
      }
      T item = flow.next();
      stall.moved();
      if (item != null && isOver()) {
        discard(item);
      } else if (item != null) {
        emit(plan.result().of(member, item));
      }
    }
  }

  private void ask(Sending<T> sending) {
    if (intake.isThere()) {
      int items = sending.toAsk(receiving.of(shape.self()));
      if (items > 0) {
        intake.request(items);
        schedule();
      }
    }
  }

  private void discard(T item) {
    Object given = item instanceof Chunk chunk ? chunk.own() : item;
    if (given != null) {
      Operators.onDiscard(given, actual.currentContext());
    }
  }

  // What the others say

  /** A frame of this stream has come. */
  void frame(InFrame frame) {
    Begun<T> now = begun;
    if (ended || now == null) {
      return;
    }
    stall.moved();
    try {
      take(now, frame);
    } catch (Receiving.CodecFault e) {
      fault(e.reason);
    } catch (RuntimeException e) {
      fault(
          new ProtocolException(
              new LciException.Detail(
                  shape.operation(),
                  frame.rank(),
                  LciException.NONE,
                  members.device(),
                  "error_protocol",
                  "it sent what makes no sense: " + e)));
    }
    schedule();
  }

  private void take(Begun<T> now, InFrame frame) {
    int member = frame.member();
    if (shape.group().worldRank(member) != frame.rank()) {
      throw new IllegalStateException("member " + member + " is another rank");
    }
    switch (frame.type()) {
      case OPEN -> opened(now, member, frame);
      case ITEMS ->
          receiving.take(member, frame, !isOver() || shape.isInRounds(), this, this::discard);
      case END -> receiving.end(member, frame.longAt(0));
      case CREDIT -> {
        OutFlow<T> flow = now.sending.to(member);
        if (flow != null) {
          flow.credit(frame.longAt(0), frame.longAt(Long.BYTES));
        }
      }
      case DETACH -> detached(now, member);
      case ABORT -> end(frame.cause().at(shape.operation(), members.device()));
    }
  }

  private void detached(Begun<T> now, int member) {
    if (!shape.goesToAll()) {
      throw new IllegalStateException("member " + member + " leaves alone");
    }
    now.sending.detach(member, this::discard);
  }

  private void opened(Begun<T> now, int member, InFrame frame) {
    StreamKind kind = StreamKind.of(frame.intAt(0));
    int root = frame.intAt(Integer.BYTES);
    if (kind != shape.kind() || root != shape.root()) {
      String theirs = kind == null ? "something unknown" : kind.call(root);
      String mine = shape.kind().call(shape.root());
      int self = shape.group().worldRank(shape.self());
      abort(
          StreamCause.mismatch(
              frame.rank(),
              "rank " + frame.rank() + " called " + theirs + ", rank " + self + " called " + mine));
      return;
    }
    stall.begun(member);
    OutFlow<T> flow = now.sending.to(member);
    if (flow != null) {
      flow.open(frame.intAt(2 * Integer.BYTES), frame.intAt(3 * Integer.BYTES));
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
    if (uneven != null) { // it needs nothing more, and third ones may
      now.sending.detach(member, this::discard);
      schedule();
      return;
    }
    InFlow<T> from = receiving.of(member);
    OutFlow<T> to = now.sending.to(member);
    if ((from != null && !from.isComplete()) || (to != null && !to.hasEnded())) {
      abort(StreamCause.gone(event));
    }
  }

  // The end

  /** It fails here, by what user code threw: the others are told. */
  private void fault(Throwable reason) {
    if (!ended && !telling) {
      telling = true; // its text is user code, too
      tell(StreamCause.failed(hub.rank(), reason));
      end(reason);
    }
  }

  /** It fails everywhere for the same reason. */
  private void abort(StreamCause cause) {
    tell(cause);
    end(cause.at(shape.operation(), members.device()));
  }

  /** The last words: what they run into themselves is no other end. */
  private void tell(StreamCause cause) {
    Begun<T> now = begun;
    if (now != null) {
      telling = true;
      toOthers(now.frames.abort(cause));
    }
  }

  /** The context was given up: the others hear of that, too. */
  void revoked(StreamCause cause) {
    end(cause.at(shape.operation(), members.device()));
  }

  private void end(@Nullable Throwable reason) {
    Begun<T> now = begun;
    if (ended || now == null) {
      return;
    }
    ended = true;
    failure = reason;
    intake.cancel();
    now.sending.clear(this::discard);
    receiving.clear(this::discard);
    if (outlet != null) {
      outlet.end(reason == null || reason == uneven, this::discard);
    }
    loop.deactivate(this);
    hub.close(members.id(), now.number);
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
      send(shape.root(), now.frames.detach());
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

  // Wire

  @Override
  public boolean hasEnded() {
    return ended;
  }

  private void toOthers(byte[] frame) {
    for (int member = 0; member < shape.size(); member++) {
      if (member != shape.self()) {
        send(member, frame);
      }
    }
  }

  @Override
  public void send(int member, byte[] frame) {
    leaving++;
    hub.send(
        shape.group().worldRank(member), members.device(), frame, this::frameLeft, this::frameLost);
  }

  private void frameLeft() {
    leaving--;
    stall.moved();
    if (!ended) {
      schedule();
    }
  }

  /** Perhaps after it had left. */
  private void frameLost(LciException problem) {
    if (!isOfAnEnd(problem)) {
      fault(problem);
    }
  }

  /** The event of the peer, or the close, tells that. A peer closes its ports before it leaves. */
  private static boolean isOfAnEnd(LciException problem) {
    return problem instanceof PeerFailedException
        || problem instanceof PeerLeftException
        || problem instanceof PortClosedException
        || problem instanceof LciClosedException;
  }
}
