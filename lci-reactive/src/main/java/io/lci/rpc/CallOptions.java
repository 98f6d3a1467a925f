/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.rpc;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Options of a call. Immutable.
 *
 * @param deadline how long the whole call may take, from its first request on; null for ever. On
 *     expiry the call is cancelled and ends with {@link io.lci.error.DeadlineExceededException},
 *     which says how far it had come; requests that go on after the answers are cancelled, too.
 *     Measured by {@link io.lci.LciOptions#timer()}
 * @since 0.1
 */
public record CallOptions(@Nullable Duration deadline) {
  private static final CallOptions DEFAULTS = new CallOptions(null);

  /**
   * Checks the value.
   *
   * @param deadline how long the whole call may take, from its first request on
   */
  public CallOptions {
    if (deadline != null && (deadline.isNegative() || deadline.isZero())) {
      throw new IllegalArgumentException("deadline must be positive: " + deadline);
    }
  }

  /** {@return the defaults: no deadline} */
  public static CallOptions defaults() {
    return DEFAULTS;
  }

  /**
   * Sets the deadline.
   *
   * @param value positive; null: none
   * @return new options
   */
  public CallOptions withDeadline(@Nullable Duration value) {
    return new CallOptions(value);
  }
}
