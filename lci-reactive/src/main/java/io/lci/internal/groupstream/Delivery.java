/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.groupstream;

import org.jspecify.annotations.Nullable;

/**
 * What a stream makes of the items that are here, in the order in which they are due. Loop only.
 */
interface Delivery {
  /** No rank. */
  int NOBODY = -1;

  /** The stream has begun. */
  void begin(long number);

  /** Hands on what there is, as far as the subscriber takes it. */
  void deliver();

  /** Whether nothing more is to be delivered. */
  boolean isDone();

  /**
   * Members have no common round any more: the stream fails by this when all that others need has
   * left. Null if that is not so.
   */
  @Nullable Throwable uneven();

  /**
   * The rank of a member without which nothing comes that is due, though all of its items have
   * come; or {@link #NOBODY}.
   */
  int gaveUp();

  /** The stream has ended, without an error if that is null. */
  void end(@Nullable Throwable reason);
}
