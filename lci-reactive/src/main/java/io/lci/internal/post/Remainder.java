/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.Op;
import io.lci.am.Message;
import io.lci.internal.lane.PooledBuffer;
import io.lci.internal.lane.Posted;
import io.lci.internal.lane.SignalTarget;
import io.lci.internal.loop.LoopSubscription;
import io.lci.nativebridge.Codes;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * What is left of a posted operation for which nobody waits any more: its completion object hears
 * of its end all the same, and a message that it brings is discarded. Loop only.
 */
final class Remainder implements Posted {
  private final Outbox outbox;
  private final Op op;

  /** Of the subscriber who has left, and is not referred to any more; null if there was none. */
  private final @Nullable Context context;

  private Remainder(Outbox outbox, Op op, @Nullable Context context) {
    this.outbox = outbox;
    this.op = op;
    this.context = context;
  }

  /** For {@link Posted#remainder()}: null if {@code op} signals no completion object. */
  static @Nullable Posted of(Outbox outbox, Op op) {
    return op.target() == null ? null : new Remainder(outbox, op, null);
  }

  /** The same of one that had a subscriber. */
  static @Nullable Posted of(Outbox outbox, Op op, LoopSubscription<?> subscription) {
    return OpCodec.bringsBytes(op)
        ? new Remainder(outbox, op, subscription.actual.currentContext())
        : of(outbox, op);
  }

  @Override
  public void completed(int code, int rank, long tag, int size, @Nullable PooledBuffer memory) {
    Message message = code == Codes.DONE ? OpCodec.message(op, memory, rank, tag, size) : null;
    boolean kept = signal(outbox, op, code, message, rank, tag, size);
    if (message != null && context != null && !kept) {
      discard(outbox, message, context);
    }
  }

  /**
   * Passes the end of an operation on, if it has a completion object.
   *
   * @return whether that keeps the message
   */
  static boolean signal(
      Outbox outbox, Op op, int code, @Nullable Message message, int rank, long tag, int size) {
    return op.target() != null
        && outbox.relay(
            (SignalTarget) op.target(), code, op.userContext(), message, rank, tag, size);
  }

  /** A message that nobody gets. */
  static void discard(Outbox outbox, Message message, Context context) {
    outbox.lateData++;
    Operators.onDiscard(message, context);
  }

  /** The native signal is what counts. */
  @Override
  public void abandoned(RuntimeException reason) {}

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
