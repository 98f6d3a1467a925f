/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

/** Finds the series of a meter in a snapshot. */
@FunctionalInterface
interface MeterReader {

  /** Takes the series of one meter. */
  @FunctionalInterface
  interface Series {
    /** One series: its value, and the values of its tags in the order of the meter's tag keys. */
    void add(double value, String... tagValues);

    /** The same of a count. */
    default void add(long value, String... tagValues) {
      add((double) value, tagValues);
    }
  }

  void read(SnapshotView view, Series out);
}
