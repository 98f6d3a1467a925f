/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.completion;

import java.util.Objects;

/**
 * Options of a completion queue. Immutable.
 *
 * @param kind the structure behind it
 * @param capacity most completions that an array stores; 0 for option {@code queue_capacity}. A
 *     linked queue ignores it
 * @param loop index of the home loop, where everything is signalled
 * @since 0.1
 */
public record QueueOptions(Kind kind, int capacity, int loop) {
  /** The structure behind a queue. */
  public enum Kind {
    /** The kind that option {@code cq_type} names. */
    DEFAULT,
    /**
     * A fixed array, in which nothing is overwritten and nothing lost. An operation has a place in
     * it from its post until its completion is taken. While there is no place, a post is refused
     * with {@code RETRY_NOMEM} and waits, or fails with {@code error_exhausted} where retry is not
     * allowed. If subscribers may request nothing for a long time, use a {@link #LINKED} queue,
     * which keeps all completions.
     */
    ARRAY,
    /** Linked rings, bounded by memory alone; on x86-64 only. */
    LINKED
  }

  private static final QueueOptions DEFAULTS = new QueueOptions(Kind.DEFAULT, 0, 0);

  /**
   * Checks the values.
   *
   * @param kind the structure behind it
   * @param capacity most completions that an array stores
   * @param loop index of the home loop, where everything is signalled
   */
  public QueueOptions {
    Objects.requireNonNull(kind, "kind");
    if (capacity < 0) {
      throw new IllegalArgumentException("capacity must not be negative: " + capacity);
    }
    if (loop < 0) {
      throw new IllegalArgumentException("loop must not be negative: " + loop);
    }
  }

  /** {@return the defaults} */
  public static QueueOptions defaults() {
    return DEFAULTS;
  }

  /**
   * Sets the structure.
   *
   * @param value the kind
   * @return new options
   */
  public QueueOptions withKind(Kind value) {
    return new QueueOptions(value, capacity, loop);
  }

  /**
   * Sets the capacity of an array.
   *
   * @param value most completions stored
   * @return new options
   */
  public QueueOptions withCapacity(int value) {
    return new QueueOptions(kind, value, loop);
  }

  /**
   * Sets the home loop.
   *
   * @param value index of the loop
   * @return new options
   */
  public QueueOptions withLoop(int value) {
    return new QueueOptions(kind, capacity, value);
  }
}
