/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.am;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import reactor.core.scheduler.Scheduler;

/**
 * Options of a sender. Immutable.
 *
 * @since 0.1
 */
public final class SenderOptions {
  /** Default of {@link #window()}. */
  public static final int DEFAULT_WINDOW = 256;

  /** Largest window. */
  public static final int MAX_WINDOW = 1 << 16;

  /** Value of {@link #device()}: the first device of the home loop. */
  public static final int ANY_DEVICE = -1;

  private static final SenderOptions DEFAULTS = builder().build();

  private final int loop;
  private final int window;
  private final boolean stopOnError;
  private final @Nullable Port replyTo;
  private final int device;
  private final @Nullable Scheduler signalOn;
  private final @Nullable Duration deadline;

  private SenderOptions(Builder b) {
    loop = b.loop;
    window = b.window;
    stopOnError = b.stopOnError;
    replyTo = b.replyTo;
    device = b.device;
    signalOn = b.signalOn;
    deadline = b.deadline;
  }

  /** {@return the defaults: loop 0, window 256, errors are data, no deadline} */
  public static SenderOptions defaults() {
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

  /** {@return the index of the home loop, where everything is signalled} */
  public int loop() {
    return loop;
  }

  /**
   * {@return the most elements of one bulk send that are taken from upstream and not yet reported}
   * Default {@value #DEFAULT_WINDOW}.
   */
  public int window() {
    return window;
  }

  /** {@return whether the first failed element ends a bulk send with its error} Default false. */
  public boolean stopOnError() {
    return stopOnError;
  }

  /** {@return the port of this rank at which each message reserves room for its reply, or null} */
  public @Nullable Port replyTo() {
    return replyTo;
  }

  /** {@return the device whose rings are used, or {@link #ANY_DEVICE}} */
  public int device() {
    return device;
  }

  /** {@return where results and ends are signalled, or null for the home loop} */
  public @Nullable Scheduler signalOn() {
    return signalOn;
  }

  /** {@return the time of each message, or null for none} */
  public @Nullable Duration deadline() {
    return deadline;
  }

  @Override
  public String toString() {
    return "SenderOptions[loop="
        + loop
        + ", window="
        + window
        + ", stopOnError="
        + stopOnError
        + ", replyTo="
        + replyTo
        + ", device="
        + device
        + ", signalOn="
        + signalOn
        + ", deadline="
        + deadline
        + ']';
  }

  /** Builds {@link SenderOptions}. Not thread-safe. */
  public static final class Builder {
    private int loop = 0;
    private int window = DEFAULT_WINDOW;
    private boolean stopOnError;
    private @Nullable Port replyTo;
    private int device = ANY_DEVICE;
    private @Nullable Scheduler signalOn;
    private @Nullable Duration deadline;

    private Builder() {}

    private Builder(SenderOptions o) {
      loop = o.loop;
      window = o.window;
      stopOnError = o.stopOnError;
      replyTo = o.replyTo;
      device = o.device;
      signalOn = o.signalOn;
      deadline = o.deadline;
    }

    /**
     * Sets the home loop, whose first device is used.
     *
     * @param value index of the loop
     * @return this
     */
    public Builder loop(int value) {
      if (value < 0) {
        throw new IllegalArgumentException("loop must not be negative: " + value);
      }
      loop = value;
      device = ANY_DEVICE;
      return this;
    }

    /**
     * Sets the most elements of one bulk send that are taken from upstream and not yet reported,
     * refused ones included.
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
     * Sets whether the first failed element ends a bulk send.
     *
     * @param value true to stop
     * @return this
     */
    public Builder stopOnError(boolean value) {
      stopOnError = value;
      return this;
    }

    /**
     * Makes every message a request, as {@link io.lci.AmOp#replyTo} does.
     *
     * @param value port of this rank whose inbox has room for replies; null: none
     * @return this
     */
    public Builder replyTo(@Nullable Port value) {
      replyTo = value;
      return this;
    }

    /**
     * Sets the device, and with it the home loop: the one that serves it. Devices are independent
     * of each other: each has its own rings, credit and order of refusal.
     *
     * @param value index of the device
     * @return this
     */
    public Builder device(int value) {
      if (value < ANY_DEVICE) {
        throw new IllegalArgumentException("device must not be negative: " + value);
      }
      device = value;
      return this;
    }

    /**
     * Sets where results and ends are signalled, instead of on the home loop, as {@code publishOn}
     * does.
     *
     * @param value for example the {@linkplain io.lci.LciLoop#scheduler() scheduler} of another
     *     loop; null: the home loop
     * @return this
     */
    public Builder signalOn(@Nullable Scheduler value) {
      signalOn = value;
      return this;
    }

    /**
     * Sets the time within which each message must be accepted, and, if its payload does not fit a
     * packet, be sent; in a bulk send from when its element was taken from upstream. A message that
     * was posted when its time is over may still arrive. {@link Sender#route} reports a late
     * element like any that failed ({@link io.lci.error.DeadlineExceededException}), and goes on;
     * {@link Sender#sendAll} ends with the error. Measured by {@link io.lci.LciOptions#timer()}.
     * Costs an object and a timer for each message.
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

    /** {@return the options} */
    public SenderOptions build() {
      return new SenderOptions(this);
    }
  }
}
