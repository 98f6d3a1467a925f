/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.stream;

import java.time.Duration;
import java.util.Objects;

/**
 * Options of a subscription to a remote stream. Immutable.
 *
 * @since 0.1
 */
public final class SubscribeOptions {
  /** Longest {@link #awaitPublisher()}. */
  public static final Duration MAX_AWAIT = Duration.ofDays(20);

  private static final SubscribeOptions DEFAULTS = builder().build();

  private final Duration awaitPublisher;

  private SubscribeOptions(Builder b) {
    awaitPublisher = b.awaitPublisher;
  }

  /** {@return the defaults: an unknown name is an error at once} */
  public static SubscribeOptions defaults() {
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

  /** {@return how long the publishing rank waits for the name; zero: not at all} */
  public Duration awaitPublisher() {
    return awaitPublisher;
  }

  @Override
  public String toString() {
    return "SubscribeOptions[awaitPublisher=" + awaitPublisher + ']';
  }

  /** Builds {@link SubscribeOptions}. Not thread-safe. */
  public static final class Builder {
    private Duration awaitPublisher = Duration.ZERO;

    private Builder() {}

    private Builder(SubscribeOptions o) {
      awaitPublisher = o.awaitPublisher;
    }

    /**
     * Sets how long the publishing rank waits for the name before the subscription ends with {@link
     * io.lci.error.NoSuchStreamException}. Measured there, in milliseconds.
     *
     * @param value zero to {@link #MAX_AWAIT}; zero: not at all
     * @return this
     */
    public Builder awaitPublisher(Duration value) {
      Objects.requireNonNull(value, "awaitPublisher");
      if (value.isNegative() || value.compareTo(MAX_AWAIT) > 0) {
        throw new IllegalArgumentException(
            "awaitPublisher must be in 0.." + MAX_AWAIT + ": " + value);
      }
      awaitPublisher = value;
      return this;
    }

    /** {@return the options} */
    public SubscribeOptions build() {
      return new SubscribeOptions(this);
    }
  }
}
