/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench.jvm;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What is measured of collectives: {@code coll_mono_KIND_SIZE}, for a barrier without a size; with
 * names, sizes and units of the benchmark in C, but for {@code mono}.
 *
 * @param label its name
 * @param kind the call
 * @param bytes of a block
 */
record CollectiveMetric(String label, Kind kind, int bytes) {
  private static final Pattern LABEL =
      Pattern.compile(
          "coll_mono_(?:(barrier)|(allreduce|broadcast|allgather|alltoall)_(8|64k|1m))");

  /** The calls that are measured. */
  enum Kind {
    BARRIER,
    ALLREDUCE,
    BROADCAST,
    ALLGATHER,
    ALLTOALL;

    /** Whether a member gets a block of each. */
    boolean bringsAll() {
      return this == ALLGATHER || this == ALLTOALL;
    }
  }

  /**
   * Finds a metric.
   *
   * @throws IllegalArgumentException if there is none of that name
   */
  static CollectiveMetric of(String label) {
    Matcher parts = LABEL.matcher(label);
    if (!parts.matches()) {
      throw new IllegalArgumentException("no such metric: " + label);
    }
    String kind = parts.group(1) == null ? parts.group(2) : parts.group(1);
    return new CollectiveMetric(
        label, Kind.valueOf(kind.toUpperCase(Locale.ROOT)), bytes(parts.group(3)));
  }

  private static int bytes(@Nullable String size) {
    return size == null
        ? 0
        : switch (size) {
          case "8" -> 8;
          case "64k" -> 64 << 10;
          default -> 1 << 20;
        };
  }

  /** Whether it is a time of a call, not a bandwidth. */
  boolean isShort() {
    return bytes <= Double.BYTES;
  }

  /** One line of JSON. */
  String line(double value) {
    return JvmBench.line(label, isShort() ? "ns" : "GB/s", value);
  }
}
