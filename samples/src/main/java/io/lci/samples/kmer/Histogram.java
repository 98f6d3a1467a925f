/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer;

import java.util.Map;
import java.util.TreeMap;

/**
 * How many distinct k-mers occurred how often. Counts of two and above come from the tables and are
 * exact. What is left of all occurrences are the k-mers that occur once, so their number is exact
 * too, although no table holds them.
 */
final class Histogram {
  private final TreeMap<Long, Long> distinct = new TreeMap<>();

  /**
   * Adds {@code number} distinct k-mers that occurred {@code count} times; those of count 1 are
   * ignored.
   */
  void add(long count, long number) {
    if (count > 1) {
      distinct.merge(count, number, Math::addExact);
    }
  }

  /** Adds what a table holds. */
  void add(CountTable table) {
    long[] small = new long[1024];
    table.forEach(
        (high, low, count) -> {
          if (count < small.length) {
            small[(int) count]++;
          } else {
            add(count, 1);
          }
        });
    for (int count = 2; count < small.length; count++) {
      if (small[count] > 0) {
        add(count, small[count]);
      }
    }
  }

  /**
   * Completes the histogram with the k-mers that occur once, given the number of occurrences of
   * all.
   */
  void complete(long occurrences) {
    long once = occurrences;
    for (Map.Entry<Long, Long> e : distinct.entrySet()) {
      once -= e.getKey() * e.getValue();
    }
    if (once < 0) {
      throw new IllegalStateException("counted " + -once + " k-mers more than were sent");
    }
    if (once > 0) {
      distinct.put(1L, once);
    }
  }

  /** Count to number of distinct k-mers, ascending. */
  Map<Long, Long> lines() {
    return distinct;
  }

  /** Number of distinct k-mers. */
  long distinct() {
    return distinct.values().stream().mapToLong(Long::longValue).sum();
  }
}
