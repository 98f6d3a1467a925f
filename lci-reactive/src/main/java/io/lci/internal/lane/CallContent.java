/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.lane;

import io.lci.collective.Algorithm;
import org.jspecify.annotations.Nullable;

/** What a member brings to a call of a context of a group, and gets of it. Loop only. */
public interface CallContent {
  CollectiveKind kind();

  /** As the program named it. */
  Algorithm algorithm();

  /** Writes the descriptor, and copies what is to be copied. */
  void encode(PostWriter writer);

  /**
   * The call has ended well: takes its result to where it belongs.
   *
   * @param number of the call
   * @param memory that the call had beside it
   */
  void copyOut(long number, @Nullable PooledBuffer memory);
}
