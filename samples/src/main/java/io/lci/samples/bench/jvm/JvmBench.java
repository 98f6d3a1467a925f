/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench.jvm;

import java.util.Arrays;
import java.util.Locale;

/** What the benchmarks between two JVMs have in common: doses, and the line that they print. */
final class JvmBench {
  static final String STREAM = "am_stream";
  static final String ROUND_TRIP = "am_round_trip";

  /** Messages in one round of a stream. */
  static final int MESSAGES = 4_000_000;

  static final int ROUNDS = 5;

  /** Rounds that are not counted. */
  static final int WARM_UP = 3;

  /** Round trips, the first half of them not counted. */
  static final int TRIPS = 400_000;

  private JvmBench() {}

  static boolean isFirst() {
    return "0".equals(System.getenv("LCI_RANK"));
  }

  static void printStream(long nanos) {
    print(STREAM, "Mmsg/s", (ROUNDS - WARM_UP) * (double) MESSAGES * 1e3 / nanos);
  }

  /** Prints the median of the second half. */
  static void printRoundTrips(long[] nanos) {
    long[] counted = Arrays.copyOfRange(nanos, nanos.length / 2, nanos.length);
    Arrays.sort(counted);
    print(ROUND_TRIP, "us", counted[counted.length / 2] * 1e-3);
  }

  static void checkSum(long sum, int count) {
    long expected = (long) count * (count - 1) / 2;
    if (sum != expected) {
      throw new IllegalStateException("payloads add up to " + sum + ", not " + expected);
    }
  }

  private static void print(String metric, String unit, double value) {
    System.out.printf(
        Locale.ROOT, "{\"metric\":\"%s\",\"unit\":\"%s\",\"value\":%.6g}%n", metric, unit, value);
  }
}
