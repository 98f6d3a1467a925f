/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import reactor.core.scheduler.Scheduler;

/**
 * Options of {@link LciRuntime#post(org.reactivestreams.Publisher, PostOptions)}. Immutable.
 *
 * @since 0.1
 */
public final class PostOptions {
  /** Default of {@link #window()}. */
  public static final int DEFAULT_WINDOW = 256;

  /** Largest window. */
  public static final int MAX_WINDOW = 1 << 16;

  private static final PostOptions DEFAULTS = builder().build();

  private final int loop;
  private final int window;
  private final boolean stopOnError;
  private final @Nullable Duration deadline;
  private final @Nullable Scheduler signalOn;

  private PostOptions(Builder b) {
    loop = b.loop;
    window = b.window;
    stopOnError = b.stopOnError;
    deadline = b.deadline;
    signalOn = b.signalOn;
  }

  /**
   * {@return the defaults: loop 0, which also signals, window 256, errors are data, no deadline}
   */
  public static PostOptions defaults() {
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

  /** {@return the index of the home loop, which signals} */
  public int loop() {
    return loop;
  }

  /**
   * {@return the most elements that are taken from upstream and not yet reported} Default {@value
   * #DEFAULT_WINDOW}.
   */
  public int window() {
    return window;
  }

  /** {@return whether the first failed operation ends the stream} Default false. */
  public boolean stopOnError() {
    return stopOnError;
  }

  /** {@return the time of each operation, or null for none} */
  public @Nullable Duration deadline() {
    return deadline;
  }

  /** {@return where results and the end are signalled, or null for the home loop} */
  public @Nullable Scheduler signalOn() {
    return signalOn;
  }

  @Override
  public String toString() {
    return "PostOptions[loop="
        + loop
        + ", window="
        + window
        + ", stopOnError="
        + stopOnError
        + ", deadline="
        + deadline
        + ", signalOn="
        + signalOn
        + ']';
  }

  /** Builds {@link PostOptions}. Not thread-safe. */
  public static final class Builder {
    private int loop = 0;
    private int window = DEFAULT_WINDOW;
    private boolean stopOnError;
    private @Nullable Duration deadline;
    private @Nullable Scheduler signalOn;

    private Builder() {}

    private Builder(PostOptions o) {
      loop = o.loop;
      window = o.window;
      stopOnError = o.stopOnError;
      deadline = o.deadline;
      signalOn = o.signalOn;
    }

    /**
     * Sets the home loop. It signals, and an operation goes out on its own device if that loop
     * serves it, else on the first device of the loop.
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

    /**
     * Sets the most elements that are taken from upstream and not yet reported, refused ones and
     * unrequested results included.
     *
     * @param value 1 to {@value #MAX_WINDOW}
     * @return this
     */
    public Builder window(int value) {
      if (value < 1 || value > MAX_WINDOW) {
        throw new IllegalArgumentException("window must be in 1.." + MAX_WINDOW + ": " + value);
      }
      window = value;
      return this;
    }

    /**
     * Sets whether the first failed operation ends the stream with its error, after the results of
     * the operations that ended before it. Upstream is cancelled then, and elements that were not
     * accepted are discarded.
     *
     * @param value true to stop
     * @return this
     */
    public Builder stopOnError(boolean value) {
      stopOnError = value;
      return this;
    }

    /**
     * Sets the time of each operation from when it was taken from upstream, after which its result
     * is a {@link io.lci.error.DeadlineExceededException}. The own {@link Op#deadline(Duration)} of
     * an operation wins. Costs a timer for each operation.
     *
     * @param value positive; null: none
     * @return this
     */
    public Builder deadline(@Nullable Duration value) {
      if (value != null && (value.isNegative() || value.isZero())) {
        throw new IllegalArgumentException("deadline must be positive: " + value);
      }
      deadline = value;
      return this;
    }

    /**
     * Sets where results and the end are signalled, instead of on the home loop, as {@code
     * publishOn} does: up to 256 results are taken ahead. {@link Op#signalOn} of the operations
     * themselves has no effect here.
     *
     * @param value for example the {@linkplain LciLoop#scheduler() scheduler} of another loop;
     *     null: the home loop
     * @return this
     */
    public Builder signalOn(@Nullable Scheduler value) {
      signalOn = value;
      return this;
    }

    /** {@return the options} */
    public PostOptions build() {
      return new PostOptions(this);
    }
  }
}
