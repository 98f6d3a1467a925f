/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.GetOp;
import io.lci.Op;
import io.lci.am.Message;
import io.lci.completion.Completion;
import io.lci.error.LciException;
import io.lci.internal.lane.OpParts;
import io.lci.internal.lane.PooledBuffer;
import io.lci.internal.lane.PostWriter;
import io.lci.internal.lane.Posted;
import io.lci.internal.lane.SlotTable;
import io.lci.internal.loop.Drainable;
import io.lci.internal.loop.LoopSubscription;
import io.lci.internal.loop.TimerStop;
import io.lci.nativebridge.Codes;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.Disposable;
import reactor.core.Exceptions;

/**
 * One operation on its way: in the array, parked while it is refused, posted; ended exactly once.
 * What its end means is its {@link Purpose}'s.
 *
 * @param <T> what a subscriber of it alone gets
 */
final class OpAttempt<T> extends LoopSubscription<T> implements Submitter, Posted {
  private enum State {
    CREATED,
    SUBMITTED,
    PARKED,
    POSTED,
    ENDED
  }

  final Op op;
  private final Outbox outbox;
  private final Purpose purpose;

  /** The element whose operation it is; null if it has a subscriber of its own. */
  private final @Nullable Object item;

  /** Its neighbours among {@link LiveElements}. */
  @Nullable OpAttempt<?> before;

  @Nullable OpAttempt<?> after;

  private State state = State.CREATED;
  private @Nullable Destination destination;
  private int node = ParkedTable.NONE;
  private int slot = SlotTable.NONE;
  private @Nullable RuntimeException failure;
  private @Nullable Completion completion;

  /** What the core answered last: why it was refused, or how it was accepted. */
  private int answer = Codes.DONE;

  /** A queue has the message that it brought. */
  private boolean keptByTarget;

  private @Nullable Disposable timer;

  /** That it moves: the payload is not asked again. */
  private int bytes;

  /** What a get without a buffer of the user reads into. */
  private @Nullable PooledBuffer readInto;

  OpAttempt(
      Outbox outbox,
      CoreSubscriber<? super T> actual,
      Op op,
      Purpose purpose,
      @Nullable Object item) {
    super(outbox.loop, actual);
    this.outbox = outbox;
    this.op = op;
    this.purpose = purpose;
    this.item = item;
  }

  Object item() {
    return Objects.requireNonNull(item);
  }

  boolean isNew() {
    return state == State.CREATED;
  }

  boolean isPosted() {
    return state == State.POSTED;
  }

  boolean hasEnded() {
    return state == State.ENDED;
  }

  @Nullable RuntimeException failure() {
    return failure;
  }

  /** How it ended, once: what was taken is not late any more. Null if it failed. */
  @Nullable Completion takeCompletion() {
    Completion taken = completion;
    completion = null;
    return taken;
  }

  /** How it was accepted, if it was. */
  int acceptedAs() {
    return answer;
  }

  /** Posts it. */
  void start(@Nullable Duration deadline) {
    if (loop.isClosing()) {
      end(loop.closed(op.toString()), null);
      return;
    }
    state = State.SUBMITTED;
    Destination target = OpCodec.destination(outbox, op);
    destination = target;
    if (deadline != null) {
      try {
        timer = Deadline.start(outbox, deadline, () -> deadlinePassed(deadline));
      } catch (Throwable e) { // it was disposed, or is the user's own
        Exceptions.throwIfJvmFatal(e);
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
    stopTimer();
    if (isCancelled()) {
      discardUnseen();
    }
    purpose.ended(this);
  }

  private void stopTimer() {
    Disposable running = timer;
    if (running != null) {
      timer = null;
      loop.guarded(() -> TimerStop.of(running, actual.currentContext()));
    }
  }

  /** Signals success: the item, if any, and the end. */
  @SuppressWarnings("unchecked") // T is what the purpose shows, by construction
  void succeed(@Nullable Object shown) {
    if (shown != null) {
      emit((T) shown);
    }
    complete();
  }

  @Override
  public void drain() {
    purpose.drain(this);
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
        outbox.unpark(Objects.requireNonNull(destination), node);
        end(null, null);
        purpose.withdrawn(this);
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
          case PARKED -> Deadline.parked(Objects.requireNonNull(destination), answer);
          default -> "posted";
        };
    Destination target = Objects.requireNonNull(destination);
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
      outbox.cancelReceive(context, Objects.requireNonNull(destination));
    }
  }

  // Submitter

  @Override
  public Op.Kind kind() {
    return op.kind();
  }

  @Override
  public int sizeHint(Object ignored) {
    return purpose.sizeHint(this);
  }

  @Override
  public void encode(Object ignored, PostWriter out) {
    state = State.SUBMITTED;
    bytes = purpose.write(this, out);
  }

  /** Writes what the operation says; returns the bytes that it moves. */
  int writeOp(PostWriter out) {
    OpCodec.encode(op, outbox.core, out);
    readInto = op.kind() == Op.Kind.GET ? out.buffer() : null;
    return switch (op.kind()) {
      case GET -> ((GetOp) op).bytes();
      case ATOMIC -> Long.BYTES;
      default -> OpParts.payloadBytes(op);
    };
  }

  @Override
  public Posted posted(Object ignored) {
    return this;
  }

  @Override
  public void accepted(Object ignored, Destination target, int code, int postedSlot) {
    answer = code;
    if (postedSlot == SlotTable.NONE) {
      // The pool has the memory already, but nobody takes it while outcomes are read
      long tag = op.kind() == Op.Kind.ATOMIC ? outbox.settledTag() : OpParts.tag(op);
      try {
        Message message = OpCodec.message(op, readInto, op.rank(), tag, bytes);
        end(null, completion(op.rank(), tag, bytes, message));
      } catch (PooledBuffer.NoMemory e) {
        end(outbox.failures.noMemory(target, e), null);
      }
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
  public void failed(Object ignored, Destination target, RuntimeException reason) {
    end(reason, null);
  }

  @Override
  public boolean wants(Object ignored) {
    return purpose.wants() && !isOver() && state != State.ENDED;
  }

  @Override
  public void parked(Object ignored, Destination target, int parkedNode, int code) {
    state = State.PARKED;
    node = parkedNode;
    answer = code;
  }

  @Override
  public void dropped(Object ignored, int code) {
    if (state != State.ENDED) {
      end(null, null);
      purpose.withdrawn(this);
    }
  }

  @Override
  public Drainable drainable() {
    return purpose.drainable(this);
  }

  // Posted

  @Override
  public void completed(int code, int rank, long tag, int size, @Nullable PooledBuffer memory) {
    Message message = code == Codes.DONE ? OpCodec.message(op, memory, rank, tag, size) : null;
    keptByTarget = Remainder.signal(outbox, op, code, message, rank, tag, size);
    if (code != Codes.DONE) {
      Destination target = Objects.requireNonNull(destination);
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
  public boolean holdsFence() {
    return Posted.holdsFence(op);
  }

  @Override
  public @Nullable Posted remainder() {
    return Remainder.of(outbox, op, this);
  }
}
