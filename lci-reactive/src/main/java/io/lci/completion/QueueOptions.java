/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.completion;

import java.util.Objects;

/**
 * Options of a completion queue. Immutable.
 *
 * @since 0.1
 */
public final class QueueOptions {
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

  private static final QueueOptions DEFAULTS = builder().build();

  private final Kind kind;
  private final int capacity;
  private final int loop;

  private QueueOptions(Builder b) {
    kind = b.kind;
    capacity = b.capacity;
    loop = b.loop;
  }

  /** {@return the defaults} */
  public static QueueOptions defaults() {
    return DEFAULTS;
  }

  /** {@return a builder that starts from the defaults} */
  public static Builder builder() {
    return new Builder();
  }

  /** {@return a builder that starts from these options} */
  public Builder mutate() {
    return new Builder(this);
  }

  /** {@return the structure behind the queue} */
  public Kind kind() {
    return kind;
  }

  /** {@return the most completions that an array stores; 0 for option {@code queue_capacity}} */
  public int capacity() {
    return capacity;
  }

  /** {@return the index of the home loop, where everything is signalled} */
  public int loop() {
    return loop;
  }

  @Override
  public String toString() {
    return "QueueOptions[kind=" + kind + ", capacity=" + capacity + ", loop=" + loop + ']';
  }

  /** Builds {@link QueueOptions}. Not thread-safe. */
  public static final class Builder {
    private Kind kind = Kind.DEFAULT;
    private int capacity;
    private int loop = 0;

    private Builder() {}

    private Builder(QueueOptions o) {
      kind = o.kind;
      capacity = o.capacity;
      loop = o.loop;
    }

    /**
     * Sets the structure.
     *
     * @param value the kind
     * @return this
     */
    public Builder kind(Kind value) {
      kind = Objects.requireNonNull(value, "kind");
      return this;
    }

    /**
     * Sets the capacity of an array. A linked queue ignores it.
     *
     * @param value most completions stored; 0: option {@code queue_capacity}
     * @return this
     */
    public Builder capacity(int value) {
      if (value < 0) {
        throw new IllegalArgumentException("capacity must not be negative: " + value);
      }
      capacity = value;
      return this;
    }

    /**
     * Sets the home loop, where everything is signalled.
     *
     * @param value index of the loop
     * @return this
     */
    public Builder loop(int value) {
      if (value < 0) {
        throw new IllegalArgumentException("loop must not be negative: " + value);
      }
      loop = value;
      return this;
    }

    /** {@return the options} */
    public QueueOptions build() {
      return new QueueOptions(this);
    }
  }
}
