/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.lane;

import io.lci.Op;
import org.jspecify.annotations.Nullable;

/** Waits for the native signal of an operation that was posted. */
public interface Posted {
  /**
   * The operation ended.
   *
   * @param code done or an error
   * @param memory what the operation used; the caller takes it back afterwards
   * @throws PooledBuffer.NoMemory if the heap has no room for what it brought; it is told once more
   *     then, with that error
   */
  void completed(int code, int rank, long tag, int size, @Nullable PooledBuffer memory);

  /**
   * Ends with an error although the native signal has not come; that signal will find {@link
   * #remainder()}. At the end of the loop no signal comes, and that is told at once, too.
   */
  void abandoned(RuntimeException reason);

  /** Peer with whose end the operation ends, or -1 for none. */
  int boundRank();

  /** The core ends receives: other loops' devices may still read what a peer had sent. */
  static int boundRank(Op op) {
    return op.kind() == Op.Kind.BARRIER || op.kind() == Op.Kind.RECEIVE ? -1 : op.rank();
  }

  /** Whether a graceful close waits for it. */
  boolean holdsClose();

  /** Whether a fence waits for it: it sends, or it moves bytes of another rank. */
  boolean holdsFence();

  /** The same of an operation. */
  static boolean holdsFence(Op op) {
    return op.kind() != Op.Kind.BARRIER && op.kind() != Op.Kind.RECEIVE;
  }

  /** Who hears of the native signal when this waits no more; null for nobody. */
  default @Nullable Posted remainder() {
    return null;
  }
}
