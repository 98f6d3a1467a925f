/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench.jvm;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * How much is done for one figure: {@value #ROUNDS} rounds, the first {@value #WARM_UP} not
 * counted; or round trips, the first half of them not counted.
 *
 * @param count items of a round, or round trips; a multiple of {@link #CONCURRENCY}
 */
record Dose(int count) {
  /** Operations and calls under way at a time, where that is the user's choice. */
  static final int CONCURRENCY = 32;

  /** Demand of those who take streams. */
  static final int DEMAND = 256;

  private static final int ROUNDS = 5;
  private static final int WARM_UP = 3;
  private static final int LEAST_CHUNKS = 8;

  Dose {
    if (count <= 0 || count % CONCURRENCY != 0) {
      throw new IllegalArgumentException("count is " + count);
    }
  }

  /**
   * The dose of a metric.
   *
   * @param divisor of the full dose: a side that is much slower does less
   * @param part of the dose, a number in (0, 1], as {@code ./lci bench --dose} says it; null for 1
   */
  static Dose of(Metric metric, int divisor, @Nullable String part) {
    double wanted =
        (double) metric.count() / divisor * (part == null ? 1 : Double.parseDouble(part));
    return new Dose(Math.max(LEAST_CHUNKS, (int) (wanted / CONCURRENCY)) * CONCURRENCY);
  }

  /** What {@code 0, 1 ... count - 1} add up to. */
  long sum() {
    return (long) count * (count - 1) / 2;
  }

  void checkSum(long sum) {
    check(sum, sum());
  }

  static void check(long sum, long expected) {
    if (sum != expected) {
      throw new IllegalStateException("payloads add up to " + sum + ", not " + expected);
    }
  }

  /** Does all rounds; for the side that does not measure. */
  void rounds(Runnable round) {
    for (int i = 0; i < ROUNDS; i++) {
      round.run();
    }
  }

  /** Does all rounds; returns millions of items in a second. */
  double rate(Runnable round) {
    return count * 1e3 / perRound(round, System::nanoTime);
  }

  /** Does all rounds; returns bytes of Java heap that this JVM allocated for an item. */
  double garbage(Runnable round) {
    return perRound(round, new Allocation()::bytes) / count;
  }

  private static double perRound(Runnable round, Gauge gauge) {
    long total = 0;
    for (int i = 1; i <= ROUNDS; i++) {
      long before = gauge.read();
      round.run();
      total += i > WARM_UP ? gauge.read() - before : 0;
    }
    return (double) total / (ROUNDS - WARM_UP);
  }

  private interface Gauge {
    long read();
  }

  /** Median of the second half, in microseconds. */
  static double medianMicros(long[] nanos) {
    long[] counted = Arrays.copyOfRange(nanos, nanos.length / 2, nanos.length);
    Arrays.sort(counted);
    return counted[counted.length / 2] * 1e-3;
  }
}
