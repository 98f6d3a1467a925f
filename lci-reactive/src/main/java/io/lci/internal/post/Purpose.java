/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.internal.lane.OpParts;
import io.lci.internal.lane.PostWriter;
import io.lci.internal.loop.Drainable;

/**
 * The purpose of an operation: what its end means, and to whom. One purpose serves many attempts;
 * what belongs to one of them is in the {@link OpAttempt}. Loop only.
 */
abstract class Purpose {
  /** Delivers the signals that are due. */
  abstract void drain(OpAttempt<?> attempt);

  /** The attempt ended: {@link OpAttempt#failure()} or its completion say how. No signals here. */
  abstract void ended(OpAttempt<?> attempt);

  /** The attempt was taken back before the core accepted it. */
  void withdrawn(OpAttempt<?> attempt) {}

  /** Whether a refused attempt waits. */
  boolean wants() {
    return true;
  }

  /** What delivers the attempt's signals. */
  Drainable drainable(OpAttempt<?> attempt) {
    return attempt;
  }

  /** Bytes that the payload will have, at least. */
  int sizeHint(OpAttempt<?> attempt) {
    return OpParts.payloadBytes(attempt.op);
  }

  /** Writes the descriptor; returns the bytes that the operation moves. */
  int write(OpAttempt<?> attempt, PostWriter out) {
    return attempt.writeOp(out);
  }
}
