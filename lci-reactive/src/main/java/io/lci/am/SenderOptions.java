/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.am;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import reactor.core.scheduler.Scheduler;

/**
 * Options of a sender. Immutable.
 *
 * @param loop index of the home loop: where everything is signalled
 * @param window most elements of one bulk send that are taken from upstream and not yet reported,
 *     refused ones included
 * @param stopOnError whether the first failed element ends a bulk send with its error
 * @param replyTo port of this rank at which each message reserves room for its reply; null for none
 * @param device device whose rings are used, and whose loop is then the home loop; {@link
 *     #ANY_DEVICE} for the first one of {@code loop}
 * @param signalOn where results and ends are signalled; null for the home loop
 * @param deadline time of each message, of a bulk send from when its element was taken from
 *     upstream, after which it fails with {@link io.lci.error.DeadlineExceededException}; null for
 *     none. Costs an object and a timer per message
 * @since 0.1
 */
public record SenderOptions(
    int loop,
    int window,
    boolean stopOnError,
    @Nullable Port replyTo,
    int device,
    @Nullable Scheduler signalOn,
    @Nullable Duration deadline) {
  /** Default of {@link #window()}. */
  public static final int DEFAULT_WINDOW = 256;

  /** Largest window. */
  public static final int MAX_WINDOW = 1 << 16;

  /** Value of {@link #device()}: the first device of the home loop. */
  public static final int ANY_DEVICE = -1;

  private static final SenderOptions DEFAULTS =
      new SenderOptions(0, DEFAULT_WINDOW, false, null, ANY_DEVICE, null, null);

  /**
   * Checks the values.
   *
   * @param loop index of the home loop
   * @param window most elements of one bulk send that are taken from upstream and not yet reported,
   *     refused ones included
   * @param stopOnError whether the first failed element ends a bulk send with its error
   * @param replyTo port of this rank at which each message reserves room for its reply
   * @param device device whose rings are used, and whose loop is then the home loop
   * @param signalOn where results and ends are signalled
   * @param deadline time of each message, of a bulk send from when its element was taken from
   *     upstream, after which it fails with {@link io.lci.error.DeadlineExceededException}
   */
  public SenderOptions {
    if (loop < 0) {
      throw new IllegalArgumentException("loop must not be negative: " + loop);
    }
    if (device < ANY_DEVICE) {
      throw new IllegalArgumentException("device must not be negative: " + device);
    }
    if (window < 1 || window > MAX_WINDOW) {
      throw new IllegalArgumentException("window must be in 1.." + MAX_WINDOW + ": " + window);
    }
    if (deadline != null && (deadline.isNegative() || deadline.isZero())) {
      throw new IllegalArgumentException("deadline must be positive: " + deadline);
    }
  }

  /** {@return the defaults: loop 0, window 256, errors are data, no deadline} */
  public static SenderOptions defaults() {
    return DEFAULTS;
  }

  /**
   * Sets the home loop, whose first device is used.
   *
   * @param value index of the loop
   * @return new options
   */
  public SenderOptions withLoop(int value) {
    return new SenderOptions(value, window, stopOnError, replyTo, ANY_DEVICE, signalOn, deadline);
  }

  /**
   * Sets the device, and with it the home loop: the one that serves it. Devices are independent of
   * each other: each has its own rings, credit and order of refusal.
   *
   * @param value index of the device
   * @return new options
   */
  public SenderOptions withDevice(int value) {
    return new SenderOptions(loop, window, stopOnError, replyTo, value, signalOn, deadline);
  }

  /**
   * Sets the window.
   *
   * @param value 1 to {@value #MAX_WINDOW}
   * @return new options
   */
  public SenderOptions withWindow(int value) {
    return new SenderOptions(loop, value, stopOnError, replyTo, device, signalOn, deadline);
  }

  /**
   * Sets whether the first failed element ends a bulk send.
   *
   * @param value true to stop
   * @return new options
   */
  public SenderOptions withStopOnError(boolean value) {
    return new SenderOptions(loop, window, value, replyTo, device, signalOn, deadline);
  }

  /**
   * Makes every message a request, as {@link io.lci.Op#replyTo} does.
   *
   * @param value port of this rank whose inbox has room for replies; null: none
   * @return new options
   */
  public SenderOptions withReplyTo(@Nullable Port value) {
    return new SenderOptions(loop, window, stopOnError, value, device, signalOn, deadline);
  }

  /**
   * Sets where results and ends are signalled, instead of on the home loop, as {@code publishOn}
   * does.
   *
   * @param value for example the {@linkplain io.lci.LciLoop#scheduler() scheduler} of another loop;
   *     null: the home loop
   * @return new options
   */
  public SenderOptions withSignalOn(@Nullable Scheduler value) {
    return new SenderOptions(loop, window, stopOnError, replyTo, device, value, deadline);
  }

  /**
   * Sets the time within which each message must be accepted, and, if its payload does not fit a
   * packet, be sent. A message that was posted when its time is over may still arrive. {@link
   * Sender#route} reports a late element like any that failed, and goes on; {@link Sender#sendAll}
   * ends with the error. Measured by {@link io.lci.LciOptions#timer()}.
   *
   * @param value positive; null: none
   * @return new options
   */
  public SenderOptions withDeadline(@Nullable Duration value) {
    return new SenderOptions(loop, window, stopOnError, replyTo, device, signalOn, value);
  }
}
