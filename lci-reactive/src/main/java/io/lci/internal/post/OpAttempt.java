/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.Op;
import io.lci.am.Message;
import io.lci.completion.Completion;
import io.lci.error.LciException;
import io.lci.internal.lane.PooledBuffer;
import io.lci.internal.lane.PostWriter;
import io.lci.internal.lane.Posted;
import io.lci.internal.lane.SlotTable;
import io.lci.internal.loop.Drainable;
import io.lci.internal.loop.LoopSubscription;
import io.lci.nativebridge.Codes;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.Disposable;

/**
 * One operation on its way: in the array, parked while it is refused, posted; ended exactly once.
 * What its end means is its subclass's.
 */
abstract class OpAttempt<T> extends LoopSubscription<T> implements Submitter, Posted {
  private enum State {
    CREATED,
    SUBMITTED,
    PARKED,
    POSTED,
    ENDED
  }

  final Op op;
  final Outbox outbox;
  private final @Nullable Duration deadline;
  private State state = State.CREATED;
  private @Nullable Destination destination;
  private int node = ParkedTable.NONE;
  private int slot = SlotTable.NONE;
  private int lastRetry = -1;
  private @Nullable RuntimeException failure;
  private @Nullable Completion completion;

  /** How it was accepted. */
  private int acceptedAs = Codes.DONE;

  /** A queue has the message that it brought. */
  private boolean keptByTarget;

  private @Nullable Disposable timer;

  /** That it moves: the payload is not asked again. */
  private int bytes;

  /** What a get without a buffer of the user reads into. */
  private @Nullable PooledBuffer readInto;

  OpAttempt(Outbox outbox, CoreSubscriber<? super T> actual, Op op, @Nullable Duration deadline) {
    super(outbox.loop, actual);
    this.outbox = outbox;
    this.op = op;
    this.deadline = deadline;
  }

  /** It ended: {@link #failure()} or {@link #takeCompletion()} say how. No signals here. */
  abstract void ended();

  /** It was taken back before the core accepted it. */
  void withdrawn() {}

  final boolean isNew() {
    return state == State.CREATED;
  }

  final boolean isPosted() {
    return state == State.POSTED;
  }

  final boolean hasEnded() {
    return state == State.ENDED;
  }

  final @Nullable RuntimeException failure() {
    return failure;
  }

  /** How it ended, once: what was taken is not late any more. Null if it failed. */
  final @Nullable Completion takeCompletion() {
    Completion taken = completion;
    completion = null;
    return taken;
  }

  final int acceptedAs() {
    return acceptedAs;
  }

  /** Posts it. */
  final void start() {
    if (loop.isClosing()) {
      end(loop.closed(op.toString()), null);
      return;
    }
    state = State.SUBMITTED;
    Destination target = OpCodec.destination(outbox, op);
    destination = target;
    if (deadline != null) {
      Duration limit = deadline;
      try {
        timer = Deadline.start(outbox, limit, () -> deadlinePassed(limit));
      } catch (RuntimeException e) { // it was disposed, or is the user's own
        end(Deadline.refused(outbox, target, op, e), null);
        return;
      }
    }
    outbox.submit(this, op, target);
  }

  private void end(@Nullable RuntimeException error, @Nullable Completion value) {
    if (state == State.ENDED) {
      return;
    }
    state = State.ENDED;
    failure = error;
    completion = value;
    if (timer != null) {
      timer.dispose();
    }
    if (isCancelled()) {
      discardUnseen();
    }
    ended();
  }

  /** A message that nobody gets. */
  private void discardUnseen() {
    Completion unseen = takeCompletion();
    if (unseen != null && unseen.message() != null && !keptByTarget) {
      Remainder.discard(outbox, unseen.message(), actual.currentContext());
    }
  }

  @Override
  public void onCancel() {
    switch (state) {
      case PARKED -> {
        outbox.unpark(java.util.Objects.requireNonNull(destination), node);
        end(null, null);
        withdrawn();
      }
      case POSTED -> {
        letGo();
        end(null, null);
      }
      case CREATED -> end(null, null);
      case SUBMITTED -> {} // the outcome finds it cancelled
      case ENDED -> discardUnseen();
    }
  }

  private void deadlinePassed(Duration limit) {
    if (state == State.ENDED || isOver()) {
      return;
    }
    String where =
        switch (state) {
          case CREATED, SUBMITTED -> "queued";
          case PARKED -> Deadline.parked(java.util.Objects.requireNonNull(destination), lastRetry);
          default -> "posted";
        };
    Destination target = java.util.Objects.requireNonNull(destination);
    LciException reason = Deadline.passed(outbox, target, op, where, limit);
    if (state == State.PARKED) {
      outbox.unpark(target, node);
    } else if (state == State.POSTED) {
      letGo();
    }
    end(reason, null);
  }

  /** Nobody waits for what was posted; an unmatched receive is not to take a message any more. */
  private void letGo() {
    long context = outbox.slots.context(slot);
    outbox.slots.detach(slot);
    if (op.kind() == Op.Kind.RECEIVE) {
      outbox.cancelReceive(context, java.util.Objects.requireNonNull(destination));
    }
  }

  // Submitter

  @Override
  public Op.Kind kind() {
    return op.kind();
  }

  @Override
  public int sizeHint(Object item) {
    return OpCodec.sizeHint(op);
  }

  @Override
  public void encode(Object item, PostWriter out) {
    state = State.SUBMITTED;
    bytes = write(out);
  }

  /** Writes the descriptor; returns the bytes that the operation moves. */
  int write(PostWriter out) {
    OpCodec.encode(op, outbox.core, out);
    readInto = op.kind() == Op.Kind.GET ? out.buffer() : null;
    return op.kind() == Op.Kind.GET ? op.receiveBytes() : OpCodec.sizeHint(op);
  }

  @Override
  public Posted posted(Object item) {
    return this;
  }

  @Override
  public void accepted(Object item, Destination target, int code, int postedSlot) {
    acceptedAs = code;
    if (postedSlot == SlotTable.NONE) {
      // The pool has the memory already, but nobody takes it while outcomes are read
      Message message = OpCodec.message(op, readInto, op.rank(), op.tag(), bytes);
      end(null, completion(op.rank(), op.tag(), bytes, message));
      return;
    }
    slot = postedSlot;
    if (state == State.ENDED) { // its deadline passed while it was in the array
      letGo();
      return;
    }
    state = State.POSTED;
    if (isOver()) {
      onCancel();
    }
  }

  @Override
  public void failed(Object item, Destination target, RuntimeException reason) {
    end(reason, null);
  }

  @Override
  public boolean wants(Object item) {
    return !isOver() && state != State.ENDED;
  }

  @Override
  public void parked(Object item, Destination target, int parkedNode, int code) {
    state = State.PARKED;
    node = parkedNode;
    lastRetry = code;
  }

  @Override
  public void dropped(Object item, int code) {
    if (state != State.ENDED) {
      end(null, null);
      withdrawn();
    }
  }

  @Override
  public Drainable drainable() {
    return this;
  }

  // Posted

  @Override
  public void completed(int code, int rank, long tag, int size, @Nullable PooledBuffer memory) {
    Message message = code == Codes.DONE ? OpCodec.message(op, memory, rank, tag, size) : null;
    keptByTarget = Remainder.signal(outbox, op, code, message, rank, tag, size);
    if (code != Codes.DONE) {
      Destination target = java.util.Objects.requireNonNull(destination);
      end(outbox.failures.ended(op, target, code, rank, tag, size), null);
      return;
    }
    end(null, completion(rank, tag, size, message));
  }

  private Completion completion(int rank, long tag, int size, @Nullable Message message) {
    return new Completion(
        Completion.Kind.OPERATION, rank, tag, size, message, null, op.userContext());
  }

  @Override
  public void abandoned(RuntimeException reason) {
    end(reason, null);
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
  public @Nullable Posted remainder() {
    return Remainder.of(outbox, op, this);
  }
}
