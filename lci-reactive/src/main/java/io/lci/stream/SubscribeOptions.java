/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.stream;

import java.time.Duration;
import java.util.Objects;

/**
 * Options of a subscription to a remote stream. Immutable.
 *
 * @param awaitPublisher how long the publishing rank waits for the name before the subscription
 *     ends with {@link io.lci.error.NoSuchStreamException}; measured there, in milliseconds; zero
 *     means not at all, at most {@link #MAX_AWAIT}
 * @since 0.1
 */
public record SubscribeOptions(Duration awaitPublisher) {
  /** Longest {@link #awaitPublisher()}. */
  public static final Duration MAX_AWAIT = Duration.ofDays(20);

  private static final SubscribeOptions DEFAULTS = new SubscribeOptions(Duration.ZERO);

  /**
   * Checks the value.
   *
   * @param awaitPublisher how long the publishing rank waits for the name before the subscription
   *     ends with {@link io.lci.error.NoSuchStreamException}
   */
  public SubscribeOptions {
    Objects.requireNonNull(awaitPublisher, "awaitPublisher");
    if (awaitPublisher.isNegative() || awaitPublisher.compareTo(MAX_AWAIT) > 0) {
      throw new IllegalArgumentException(
          "awaitPublisher must be in 0.." + MAX_AWAIT + ": " + awaitPublisher);
    }
  }

  /** {@return the defaults: an unknown name is an error at once} */
  public static SubscribeOptions defaults() {
    return DEFAULTS;
  }

  /**
   * Sets how long to wait for the name.
   *
   * @param value zero to {@link #MAX_AWAIT}
   * @return new options
   */
  public SubscribeOptions withAwaitPublisher(Duration value) {
    return new SubscribeOptions(value);
  }
}
