/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.LciRuntime;
import io.lci.Op;
import io.lci.am.Message;
import io.lci.completion.Completion;
import io.lci.error.LciException;
import io.lci.internal.core.Errors;
import io.lci.internal.lane.HeapTarget;
import io.lci.internal.lane.OpParts;
import io.lci.internal.lane.PooledBuffer;
import io.lci.internal.lane.Posted;
import io.lci.internal.lane.SignalTarget;
import io.lci.internal.loop.LoopSubscription;
import io.lci.nativebridge.Codes;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * What is left of a posted operation for which nobody waits any more: its completion target hears
 * of its end all the same, and a message that it brings is discarded. Loop only.
 */
final class Remainder implements Posted {
  private static final Logger LOG = LoggerFactory.getLogger(LciRuntime.class);

  private final Outbox outbox;
  private final Op op;

  /** Of the subscriber who has left, and is not referred to any more; null if there was none. */
  private final @Nullable Context context;

  private Remainder(Outbox outbox, Op op, @Nullable Context context) {
    this.outbox = outbox;
    this.op = op;
    this.context = context;
  }

  /** For {@link Posted#remainder()}: null if {@code op} has no completion target. */
  static @Nullable Posted of(Outbox outbox, Op op) {
    return op.target() == null ? null : new Remainder(outbox, op, null);
  }

  /** The same of one that had a subscriber. */
  static @Nullable Posted of(Outbox outbox, Op op, LoopSubscription<?> subscription) {
    return OpParts.bringsBytes(op)
        ? new Remainder(outbox, op, subscription.actual.currentContext())
        : of(outbox, op);
  }

  @Override
  public void completed(int code, int rank, long tag, int size, @Nullable PooledBuffer memory) {
    Message message = code == Codes.DONE ? OpCodec.message(op, memory, rank, tag, size) : null;
    boolean kept = signal(outbox, op, code, message, rank, tag, size);
    if (isNews(code) && op.target() != null && !failuresAreTold(op)) {
      String name = Errors.name(outbox.lane.calls, code);
      LOG.warn("a posted operation failed and nobody listens: {}: {}", op, name);
    }
    if (message != null && context != null && !kept) {
      discard(outbox, message, context);
    }
  }

  /**
   * Passes the end of an operation on, if it has a completion target.
   *
   * @return whether that keeps the message
   */
  static boolean signal(
      Outbox outbox, Op op, int code, @Nullable Message message, int rank, long tag, int size) {
    Object target = op.target();
    if (target instanceof SignalTarget object) {
      return outbox.relay(object, code, op.userContext(), message, rank, tag, size);
    }
    if (target == null) {
      return false;
    }
    LciException error =
        code == Codes.DONE
            ? null
            : outbox.failures.ended(op, OpCodec.destination(outbox, op), code, rank, tag, size);
    return outbox.tell(target, completion(op, rank, tag, size, message, error));
  }

  private static Completion completion(
      Op op,
      int rank,
      long tag,
      int size,
      @Nullable Message message,
      @Nullable LciException error) {
    return new Completion(
        Completion.Kind.OPERATION, rank, tag, size, message, error, op.userContext());
  }

  /** Whether the operation has a target that shows failures. */
  static boolean failuresAreTold(Op op) {
    Object target = op.target();
    return target != null && !(target instanceof HeapTarget heap && !heap.takesFailures());
  }

  /** A failure that nobody knows: the program cancels a receive, and the end of a peer is told. */
  private static boolean isNews(int code) {
    return code != Codes.DONE
        && code != Codes.ERR_CANCELLED
        && code != Codes.ERR_PEER_FAILED
        && code != Codes.ERR_PEER_LEFT;
  }

  /** A message that nobody gets. */
  static void discard(Outbox outbox, Message message, Context context) {
    outbox.lateData++;
    Operators.onDiscard(message, context);
  }

  /** No native signal comes any more: objects of the core are closed, others are told here. */
  @Override
  public void abandoned(RuntimeException reason) {
    Object target = op.target();
    if (target != null && !(target instanceof SignalTarget)) {
      long tag = OpParts.tag(op);
      outbox.tell(target, completion(op, op.rank(), tag, 0, null, (LciException) reason));
    }
  }

  @Override
  public int boundRank() {
    return -1;
  }

  @Override
  public boolean holdsClose() {
    return false;
  }

  /** The core's own fence waits for it. */
  @Override
  public boolean holdsFence() {
    return false;
  }
}
