/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import reactor.core.scheduler.Scheduler;

/**
 * Options of {@link LciRuntime#post(org.reactivestreams.Publisher, PostOptions)}. Immutable.
 *
 * @param loop index of the home loop, where everything is signalled; an operation goes out on its
 *     device if that loop serves it, else on the loop's first
 * @param window most elements that are taken from upstream and not yet reported, refused ones and
 *     unrequested results included
 * @param stopOnError whether the first failed operation ends the stream with its error, after the
 *     results of the operations that ended before it; upstream is cancelled then, and elements that
 *     were not accepted are discarded
 * @param deadline time of each operation from when it was taken from upstream, after which its
 *     result is a {@link io.lci.error.DeadlineExceededException}; null for none. An operation's own
 *     {@link Op#deadline(Duration)} wins. Costs a timer per operation
 * @param signalOn where results and the end are signalled; null for the home loop. {@link
 *     Op#signalOn} of the operations themselves has no effect here
 * @since 0.1
 */
public record PostOptions(
    int loop,
    int window,
    boolean stopOnError,
    @Nullable Duration deadline,
    @Nullable Scheduler signalOn) {
  /** Default of {@link #window()}. */
  public static final int DEFAULT_WINDOW = 256;

  /** Largest window. */
  public static final int MAX_WINDOW = 1 << 16;

  private static final PostOptions DEFAULTS = new PostOptions(0, DEFAULT_WINDOW, false, null, null);

  /**
   * Checks the values.
   *
   * @param loop index of the home loop, whose device is used
   * @param window most elements that are taken from upstream and not yet reported, refused ones and
   *     unrequested results included
   * @param stopOnError whether the first failed operation ends the stream with its error
   * @param deadline time of each operation from when it was taken from upstream, after which its
   *     result is a {@link io.lci.error.DeadlineExceededException}
   * @param signalOn where results and the end are signalled; null for the home loop
   */
  public PostOptions {
    if (loop < 0) {
      throw new IllegalArgumentException("loop must not be negative: " + loop);
    }
    if (window < 1 || window > MAX_WINDOW) {
      throw new IllegalArgumentException("window must be in 1.." + MAX_WINDOW + ": " + window);
    }
    if (deadline != null && (deadline.isNegative() || deadline.isZero())) {
      throw new IllegalArgumentException("deadline must be positive: " + deadline);
    }
  }

  /**
   * {@return the defaults: loop 0, which also signals, window 256, errors are data, no deadline}
   */
  public static PostOptions defaults() {
    return DEFAULTS;
  }

  /**
   * Sets the home loop.
   *
   * @param value index of the loop
   * @return new options
   */
  public PostOptions withLoop(int value) {
    return new PostOptions(value, window, stopOnError, deadline, signalOn);
  }

  /**
   * Sets the window.
   *
   * @param value 1 to {@value #MAX_WINDOW}
   * @return new options
   */
  public PostOptions withWindow(int value) {
    return new PostOptions(loop, value, stopOnError, deadline, signalOn);
  }

  /**
   * Sets whether the first failed operation ends the stream.
   *
   * @param value true to stop
   * @return new options
   */
  public PostOptions withStopOnError(boolean value) {
    return new PostOptions(loop, window, value, deadline, signalOn);
  }

  /**
   * Sets the time that each operation has.
   *
   * @param value positive; null: none
   * @return new options
   */
  public PostOptions withDeadline(@Nullable Duration value) {
    return new PostOptions(loop, window, stopOnError, value, signalOn);
  }

  /**
   * Sets where results and the end are signalled, instead of on the home loop, as {@code publishOn}
   * does: up to 256 results are taken ahead.
   *
   * @param value for example the {@linkplain LciLoop#scheduler() scheduler} of another loop; null:
   *     the home loop
   * @return new options
   */
  public PostOptions withSignalOn(@Nullable Scheduler value) {
    return new PostOptions(loop, window, stopOnError, deadline, value);
  }
}
