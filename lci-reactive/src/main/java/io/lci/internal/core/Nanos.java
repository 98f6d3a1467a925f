/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.core;

import java.time.Duration;

/** Durations on the clock of {@link System#nanoTime()}. */
public final class Nanos {
  /** Far beyond any wait; a sum with the time stays in order. */
  public static final long MOST = Long.MAX_VALUE / 4;

  private Nanos() {}

  /**
   * The nanoseconds of a duration.
   *
   * @param value any; one that is too long to count is cut
   * @return at most {@link #MOST}, some 70 years; 0 for a negative one
   */
  public static long of(Duration value) {
    if (value.isNegative()) {
      return 0;
    }
    return value.getSeconds() >= MOST / 1_000_000_000L ? MOST : value.toNanos();
  }
}
