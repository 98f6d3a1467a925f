/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.Op;
import io.lci.am.Message;
import io.lci.nativebridge.Codes;
import org.jspecify.annotations.Nullable;

/**
 * What is left of a posted operation for which nobody waits any more: its completion object hears
 * of its end all the same. Loop only.
 */
final class TargetRelay implements Posted {
  private final EventLoop loop;
  private final Op op;

  private TargetRelay(EventLoop loop, Op op) {
    this.loop = loop;
    this.op = op;
  }

  /** For {@link Posted#remainder()}: null if {@code op} signals no completion object. */
  static @Nullable Posted of(EventLoop loop, Op op) {
    return op.target() == null ? null : new TargetRelay(loop, op);
  }

  @Override
  public void completed(int code, int rank, long tag, int size, @Nullable PooledBuffer memory) {
    Message message = code == Codes.DONE ? OpCodec.message(op, memory, rank, tag, size) : null;
    signal(loop, op, code, message, rank, tag, size);
  }

  /** Passes the end of an operation on, if it has a completion object. */
  static void signal(
      EventLoop loop, Op op, int code, @Nullable Message message, int rank, long tag, int size) {
    if (op.target() != null) {
      loop.relay((NativeTarget) op.target(), code, op.userContext(), message, rank, tag, size);
    }
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
}
