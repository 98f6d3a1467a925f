/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.Op;
import io.lci.am.Message;
import io.lci.completion.Completion;
import io.lci.error.DeadlineExceededException;
import io.lci.error.LciException;
import io.lci.nativebridge.Codes;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.Disposable;
import reactor.core.publisher.Operators;

/** One subscription of an operation: posted at its first request, ended exactly once. */
final class OpRun<T> extends LoopSubscription<T> implements Submitter, Posted {
  /** What the subscriber gets. */
  enum Result {
    COMPLETION,
    MESSAGE,
    NOTHING
  }

  private enum State {
    CREATED,
    SUBMITTED,
    PARKED,
    POSTED,
    ENDED
  }

  private final Op op;
  private final Result result;
  private State state = State.CREATED;
  private @Nullable Destination destination;
  private int node = ParkedTable.NONE;
  private int slot = SlotTable.NONE;
  private int lastRetry = -1;
  private @Nullable Throwable failure;
  private @Nullable Completion completion;
  private @Nullable Disposable timer;

  /** That it moves: the payload is not asked again. */
  private int bytes;

  /** What a get without a buffer of the user reads into. */
  private @Nullable PooledBuffer readInto;

  OpRun(EventLoop loop, CoreSubscriber<? super T> actual, Op op, Result result) {
    super(loop, actual);
    this.op = op;
    this.result = result;
  }

  @Override
  void drain() {
    if (state == State.CREATED && demand > 0 && !isOver()) {
      start();
    } else if (state == State.ENDED && !isOver()) {
      signal();
    }
  }

  private void start() {
    if (loop.isClosing()) {
      end(Errors.closed(op.toString()), null);
      return;
    }
    Outbox outbox = loop.outbox();
    state = State.SUBMITTED;
    Destination target = OpCodec.destination(outbox, op);
    destination = target;
    Duration deadline = op.deadline();
    if (deadline != null) {
      timer =
          loop.runtime()
              .timer()
              .schedule(
                  () -> loop.execute(this::deadlinePassed),
                  deadline.toNanos(),
                  TimeUnit.NANOSECONDS);
    }
    outbox.submit(this, op, target);
  }

  @SuppressWarnings("unchecked") // T is what result says, by construction
  private void signal() {
    Throwable error = failure;
    Completion value = completion;
    if (error != null) {
      fail(error);
      return;
    }
    Object item =
        value == null || result == Result.NOTHING
            ? null
            : result == Result.MESSAGE ? value.message() : value;
    if (item != null) {
      emit((T) item);
    }
    complete();
  }

  private void end(@Nullable Throwable error, @Nullable Completion value) {
    if (state == State.ENDED) {
      return;
    }
    state = State.ENDED;
    failure = error;
    completion = value;
    if (timer != null) {
      timer.dispose();
    }
    schedule();
  }

  @Override
  void onCancel() {
    State was = state;
    switch (was) {
      case PARKED -> {
        loop.outbox().unpark(java.util.Objects.requireNonNull(destination), node);
        end(null, null);
      }
      case POSTED -> {
        letGo();
        end(null, null);
      }
      case CREATED -> end(null, null);
      case SUBMITTED,
          ENDED -> {} // the outcome finds it cancelled; a value that nobody gets is dropped below
    }
    Completion unseen = completion;
    if (was == State.ENDED && unseen != null && unseen.message() != null) {
      Operators.onDiscard(unseen.message(), actual.currentContext());
    }
  }

  private void deadlinePassed() {
    if (state == State.ENDED || isOver()) {
      return;
    }
    String where =
        switch (state) {
          case CREATED, SUBMITTED -> "queued";
          case PARKED -> "parked, last answer " + lastAnswer();
          default -> "posted";
        };
    Destination target = java.util.Objects.requireNonNull(destination);
    LciException reason =
        new DeadlineExceededException(
            loop.outbox()
                .failures
                .detail(
                    target,
                    "error_timeout",
                    op + " was " + where + " when its deadline of " + op.deadline() + " passed"));
    if (state == State.PARKED) {
      loop.outbox().unpark(target, node);
    } else if (state == State.POSTED) {
      letGo();
    }
    end(reason, null);
  }

  /** Nobody waits for what was posted; an unmatched receive is not to take a message any more. */
  private void letGo() {
    long context = loop.outbox().slots.context(slot);
    loop.outbox().slots.detach(slot);
    if (op.kind() == Op.Kind.RECEIVE) {
      loop.cancelReceive(context, java.util.Objects.requireNonNull(destination));
    }
  }

  /** Why it waits; behind others, the reason is theirs. */
  private String lastAnswer() {
    int code =
        lastRetry == Codes.RETRY_ORDER && destination != null ? destination.reason : lastRetry;
    return Errors.outcome(code).name().toLowerCase(Locale.ROOT);
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
    OpCodec.encode(op, loop.runtime(), out);
    readInto = op.kind() == Op.Kind.GET ? out.buffer() : null;
    bytes = op.kind() == Op.Kind.GET ? op.receiveBytes() : OpCodec.sizeHint(op);
  }

  @Override
  public Posted posted(Object item) {
    return this;
  }

  @Override
  public void accepted(Object item, Destination target, int code, int postedSlot) {
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
    end(null, null);
  }

  @Override
  public Drainable drainable() {
    return this;
  }

  // Posted

  @Override
  public void completed(int code, int rank, long tag, int size, @Nullable PooledBuffer memory) {
    Message message = code == Codes.DONE ? OpCodec.message(op, memory, rank, tag, size) : null;
    if (op.target() != null) {
      loop.relay((NativeTarget) op.target(), code, op.userContext(), message, rank, tag, size);
    }
    if (code != Codes.DONE) {
      Destination target = java.util.Objects.requireNonNull(destination);
      end(loop.outbox().failures.ended(op, target, code, rank, tag, size), null);
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
    return op.kind() == Op.Kind.BARRIER ? -1 : op.rank();
  }

  @Override
  public boolean holdsClose() {
    return op.kind() != Op.Kind.RECEIVE;
  }
}
