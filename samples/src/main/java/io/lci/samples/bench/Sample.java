/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench;

import java.util.Locale;

/**
 * One measured value.
 *
 * @param pair number of the round in which it was taken; values of one round are compared with each
 *     other
 * @param side whose value it is
 * @param name the program's name, such as {@code UCX}
 * @param metric what was measured, such as {@code am_rate}
 * @param unit of the value, such as {@code Mmsg/s}
 * @param value finite, not below zero; a peer's is above zero
 */
record Sample(int pair, Side side, String name, String metric, String unit, double value) {
  enum Side {
    OURS,
    PEER,
    /** Round trip of a cache line: the machine's speed in that round. */
    LINE
  }

  Sample {
    if (!(value >= 0) || Double.isInfinite(value)) {
      throw new IllegalArgumentException("value of " + metric + " is " + value);
    }
    if (side == Side.PEER && value == 0) {
      throw new IllegalArgumentException(metric + " of " + name + " is 0: no ratio");
    }
  }

  /** Parses {@code pair side name metric unit value}, separated by tabs. */
  static Sample parse(String line) {
    String[] fields = line.split("\t", -1);
    if (fields.length != 6) {
      throw new IllegalArgumentException("not six fields: " + line);
    }
    try {
      return new Sample(
          Integer.parseInt(fields[0]),
          Side.valueOf(fields[1].toUpperCase(Locale.ROOT)),
          fields[2],
          fields[3],
          fields[4],
          Double.parseDouble(fields[5]));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("not a sample: " + line, e);
    }
  }
}
