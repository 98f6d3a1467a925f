/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.AmOp;
import io.lci.LciRuntime;
import io.lci.Op;
import io.lci.am.Message;
import io.lci.error.LciException;
import io.lci.internal.core.Errors;
import io.lci.internal.core.ReservedPorts;
import io.lci.internal.lane.OpParts;
import io.lci.internal.lane.PooledBuffer;
import io.lci.internal.lane.PostWriter;
import io.lci.internal.lane.Posted;
import io.lci.internal.lane.SlotTable;
import io.lci.internal.loop.Drainable;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.TimerStop;
import io.lci.nativebridge.Codes;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.Disposable;
import reactor.core.Exceptions;
import reactor.util.context.Context;

/** An operation given to a poster: no subscriber, at most consumers of its outcome and failure. */
final class DetachedRun extends Drainable implements Submitter, Posted {
  private static final Logger LOG = LoggerFactory.getLogger(LciRuntime.class);

  private final Outbox outbox;
  private final EventLoop loop;
  private final Op op;
  private final boolean once;
  private @Nullable Destination destination;
  private int node = ParkedTable.NONE;
  private int lastRetry = -1;
  private int outcome = -1;
  private @Nullable RuntimeException failure;
  private boolean reported;

  /** Whether a slot holds it: a failure may still come. */
  private boolean posted;

  /** The slot, if {@link #posted}. */
  private int slot = SlotTable.NONE;

  /** What was posted has ended. */
  private boolean ended;

  private @Nullable Disposable timer;

  DetachedRun(Outbox outbox, Op op, boolean once) {
    this.outbox = outbox;
    this.loop = outbox.loop;
    this.op = op;
    this.once = once;
  }

  /** One attempt, now. Returns the native code, or throws the failure. */
  int attempt() {
    if (!outbox.attempt(this, op, OpCodec.destination(outbox, op))) {
      return Codes.RETRY_ORDER;
    }
    if (failure != null) {
      throw failure;
    }
    return outcome;
  }

  void submit() {
    Destination target = OpCodec.destination(outbox, op);
    destination = target;
    Duration deadline = op.deadline();
    if (deadline != null) {
      try {
        timer = Deadline.start(outbox, deadline, () -> deadlinePassed(target, deadline));
      } catch (Throwable e) { // it was disposed, or is the user's own
        Exceptions.throwIfJvmFatal(e);
        abandoned(Deadline.refused(outbox, target, op, e));
        return;
      }
    }
    outbox.submit(this, op, target);
  }

  private void deadlinePassed(Destination target, Duration limit) {
    if (ended || failure != null || (outcome >= 0 && !posted)) {
      return;
    }
    String where = "queued";
    if (node != ParkedTable.NONE) {
      where = Deadline.parked(target, lastRetry);
      outbox.unpark(target, node);
      node = ParkedTable.NONE;
    } else if (posted) {
      where = "posted";
      letGo();
    }
    abandoned(Deadline.passed(outbox, target, op, where, limit));
  }

  /** What was posted is not waited for any more; an unmatched receive is taken back. */
  private void letGo() {
    long context = outbox.slots.context(slot);
    outbox.slots.detach(slot);
    if (op.kind() == Op.Kind.RECEIVE) {
      outbox.cancelReceive(context, Objects.requireNonNull(destination));
    }
  }

  @Override
  public void drain() {
    if (reported || (outcome < 0 && failure == null) || (once && !posted)) {
      return;
    }
    reported = true;
    if (failure != null || !posted) {
      stopTimer();
    }
    if (failure != null) {
      reportFailure(failure);
    } else if (op.outcomeConsumer() != null && !once) {
      op.outcomeConsumer().accept(Errors.outcome(outcome));
    }
  }

  private void stopTimer() {
    Disposable running = timer;
    if (running != null) {
      timer = null;
      loop.guarded(() -> TimerStop.of(running, Context.empty()));
    }
  }

  private void reportFailure(RuntimeException reason) {
    Consumer<? super LciException> consumer = op.errorConsumer();
    if (consumer != null && reason instanceof LciException e) {
      consumer.accept(e);
    } else {
      LOG.warn("a posted operation failed and nobody listens: {}", op, reason);
    }
  }

  @Override
  public Op.Kind kind() {
    return op.kind();
  }

  @Override
  public int sizeHint(Object item) {
    return OpParts.payloadBytes(op);
  }

  @Override
  public void encode(Object item, PostWriter out) {
    node = ParkedTable.NONE;
    OpCodec.encode(op, outbox.core, out);
  }

  @Override
  public Posted posted(Object item) {
    return this;
  }

  @Override
  public void accepted(Object item, Destination target, int code, int postedSlot) {
    outcome = code;
    slot = postedSlot;
    posted = postedSlot != SlotTable.NONE;
    if (posted && failure != null) { // its deadline passed while it was in the array
      letGo();
    }
  }

  @Override
  public void failed(Object item, Destination target, RuntimeException reason) {
    failure = reason;
  }

  @Override
  public boolean wants(Object item) {
    return !once && failure == null;
  }

  /** What the library sends itself is bounded by windows. */
  @Override
  public boolean waitsBeyondLimit() {
    return op instanceof AmOp am && ReservedPorts.has(am.port());
  }

  @Override
  public void parked(Object item, Destination target, int parkedNode, int code) {
    node = parkedNode;
    lastRetry = code;
  }

  @Override
  public void dropped(Object item, int code) {
    outcome = code;
  }

  @Override
  public Drainable drainable() {
    return this;
  }

  @Override
  public void completed(int code, int rank, long tag, int size, @Nullable PooledBuffer memory) {
    ended = true;
    stopTimer();
    if (op.target() != null) {
      Message message = code == Codes.DONE ? OpCodec.message(op, memory, rank, tag, size) : null;
      Remainder.signal(outbox, op, code, message, rank, tag, size);
    }
    if (code != Codes.DONE && (!Remainder.failuresAreTold(op) || op.errorConsumer() != null)) {
      Destination target = OpCodec.destination(outbox, op);
      abandoned(outbox.failures.ended(op, target, code, rank, tag, size));
    }
  }

  @Override
  public void abandoned(RuntimeException reason) {
    failure = reason;
    reported = false;
    loop.markReady(this);
  }

  @Override
  public int boundRank() {
    return Posted.boundRank(op);
  }

  @Override
  public boolean holdsClose() {
    return op.kind() != Op.Kind.RECEIVE;
  }

  @Override
  public boolean holdsFence() {
    return Posted.holdsFence(op);
  }

  @Override
  public @Nullable Posted remainder() {
    return Remainder.of(outbox, op);
  }
}
