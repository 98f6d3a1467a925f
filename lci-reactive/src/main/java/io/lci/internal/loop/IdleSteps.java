/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import io.lci.IdleStrategy;
import io.lci.LciOptions;

/**
 * The idle strategies that come with the library: so many spins, then so many yields, then parks.
 *
 * @param name what it is called in options
 * @param spins empty turns before yielding
 * @param beforePark empty turns before parking
 */
public record IdleSteps(String name, long spins, long beforePark) implements IdleStrategy {
  /** Never yields. */
  public static final IdleStrategy BUSY_SPIN =
      new IdleSteps("busy_spin", Long.MAX_VALUE, Long.MAX_VALUE);

  /** Never parks. */
  public static final IdleStrategy YIELDING =
      new IdleSteps("yielding", LciOptions.DEFAULT_IDLE_SPINS, Long.MAX_VALUE);

  /** Parks at once. */
  public static final IdleStrategy PARKING = new IdleSteps("parking", 0, 0);

  /**
   * Spins, then yields, then parks.
   *
   * @param spins empty turns before yielding
   * @param yields yields before parking
   * @return the strategy
   */
  public static IdleStrategy backoff(int spins, int yields) {
    if (spins < 0 || yields < 0) {
      throw new IllegalArgumentException(
          "spins and yields must not be negative: " + spins + ", " + yields);
    }
    return new IdleSteps("backoff", spins, (long) spins + yields);
  }

  @Override
  public Step next(long empty) {
    if (empty <= spins) {
      return Step.SPIN;
    }
    return empty <= beforePark ? Step.YIELD : Step.PARK;
  }
}
