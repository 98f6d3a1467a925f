/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.Op;
import io.lci.internal.lane.PostWriter;
import io.lci.internal.lane.Posted;
import io.lci.internal.loop.Drainable;
import org.jspecify.annotations.Nullable;

/**
 * Source of descriptors: a single operation, or a bulk send whose elements are its items. Loop
 * only.
 */
public interface Submitter {
  /** What its items are; null if no user posted them. */
  Op.@Nullable Kind kind();

  /** Bytes the payload will have, at least; -1 unknown. */
  int sizeHint(Object item);

  /** Writes the descriptor; called again after a refusal. May call user code. */
  void encode(Object item, PostWriter out);

  /**
   * Who is told when the operation was posted in {@code slot}; asked only if the descriptor needs a
   * slot.
   */
  Posted posted(Object item);

  /** The final outcome: done or posted. No user code. */
  void accepted(Object item, Destination destination, int code, int slot);

  /** It failed for good. No user code. */
  void failed(Object item, Destination destination, RuntimeException reason);

  /** Whether a refused item should wait; if not, it is dropped through {@link #dropped}. */
  boolean wants(Object item);

  /** Whether its items wait also where the loop keeps no more: something else bounds them. */
  default boolean waitsBeyondLimit() {
    return false;
  }

  /** A refused item waits as {@code node}, or goes on waiting. No user code. */
  void parked(Object item, Destination destination, int node, int code);

  /** A refused item that does not wait, with the reason of the refusal. No user code. */
  void dropped(Object item, int code);

  /** What to drain when something of the above happened. */
  Drainable drainable();
}
