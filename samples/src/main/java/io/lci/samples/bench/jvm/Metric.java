/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench.jvm;

import java.util.Arrays;
import java.util.Locale;

/** What is measured between two JVMs; docs/performance.md says how. */
enum Metric {
  AM_STREAM("Mmsg/s", 4_000_000),
  AM_ROUND_TRIP("us", 400_000),
  /** As many subscribers as {@link Dose#CONCURRENCY}, each of which subscribes to its Mono anew. */
  OP_CHAINS("Mop/s", 2_000_000),
  OP_WINDOW("Mop/s", 2_000_000),
  OP_FLATMAP("Mop/s", 2_000_000),
  RPC_RESPONSE("Mcall/s", 400_000),
  RPC_ROUND_TRIP("us", 100_000),
  RPC_STREAM("Mitem/s", 2_000_000),
  RPC_CHANNEL("Mitem/s", 1_000_000),
  STREAM_ITEMS("Mitem/s", 2_000_000),
  RMA_GET_8("Mop/s", 2_000_000),
  RMA_GET_64K("GB/s", 40_000),
  GARBAGE_HANDLER("B", 1_000_000),
  GARBAGE_DECODER("B", 1_000_000),
  GARBAGE_MESSAGE("B", 1_000_000);

  private final String unit;
  private final int count;

  Metric(String unit, int count) {
    this.unit = unit;
    this.count = count;
  }

  /**
   * Finds a metric.
   *
   * @throws IllegalArgumentException if there is none of that name
   */
  static Metric of(String label) {
    return Arrays.stream(values())
        .filter(metric -> metric.label().equals(label))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("no such metric: " + label));
  }

  /** Its name in the table. */
  String label() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** One line of JSON. */
  String line(double value) {
    return JvmBench.line(label(), unit, value);
  }

  /** Items of a round, or round trips, in a full dose. */
  int count() {
    return count;
  }
}
