/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.common;

import java.util.Map;
import java.util.TreeMap;

/**
 * How many distinct k-mers occurred how often. Where no table held those that occur once, they are
 * what is left of all occurrences, which is exact, too.
 */
public final class Histogram {
  private static final int SMALL = 1024;

  private final TreeMap<Long, Long> distinct = new TreeMap<>();

  /** Adds {@code number} distinct k-mers that occurred {@code count} times. */
  public void add(long count, long number) {
    distinct.merge(count, number, Math::addExact);
  }

  /**
   * Adds what a table holds.
   *
   * @param least k-mers that occur less often are left out
   */
  public void add(CountTable table, long least) {
    long[] small = new long[SMALL];
    table.forEach(
        (high, low, count) -> {
          if (count < SMALL) {
            small[(int) count]++;
          } else if (count >= least) {
            add(count, 1);
          }
        });
    for (int count = (int) Math.min(SMALL, least); count < SMALL; count++) {
      if (small[count] > 0) {
        add(count, small[count]);
      }
    }
  }

  /**
   * Adds the k-mers that occur once, given the number of occurrences of all.
   *
   * @throws IllegalStateException if there are more occurrences here than in all
   */
  public void complete(long occurrences) {
    long once = occurrences - occurrences();
    if (once < 0) {
      throw new IllegalStateException("counted " + -once + " k-mers more than were sent");
    }
    if (once > 0) {
      add(1, once);
    }
  }

  /** {@return how many k-mers there are, equal ones too} */
  public long occurrences() {
    long all = 0;
    for (Map.Entry<Long, Long> e : distinct.entrySet()) {
      all += e.getKey() * e.getValue();
    }
    return all;
  }

  /** {@return count to number of distinct k-mers, ascending} */
  public Map<Long, Long> lines() {
    return distinct;
  }

  /** {@return the number of distinct k-mers} */
  public long distinct() {
    return distinct.values().stream().mapToLong(Long::longValue).sum();
  }
}
