/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench.jvm;

import java.util.Locale;
import reactor.core.publisher.Flux;

/** What the benchmarks between two JVMs have in common: who they are, and what they print. */
final class JvmBench {
  /** Divisor of the doses over sockets, which take more than ten times as long for a message. */
  static final int SOCKETS = 10;

  private static final String DOSE = "LCI_BENCH_DOSE";

  private JvmBench() {}

  static boolean isFirst() {
    return "0".equals(System.getenv("LCI_RANK"));
  }

  /** The dose that {@code ./lci bench} asks for. */
  static Dose dose(Metric metric, int divisor) {
    return Dose.of(metric, divisor, System.getenv(DOSE));
  }

  /** The part of a full dose that it asks for. */
  static double part() {
    String part = System.getenv(DOSE);
    return part == null ? 1 : Double.parseDouble(part);
  }

  /** One line of JSON, as {@code ./lci bench} reads it. */
  static String line(String label, String unit, double value) {
    return String.format(
        Locale.ROOT, "{\"metric\":\"%s\",\"unit\":\"%s\",\"value\":%.6g}", label, unit, value);
  }

  /** Prints the figure, if this is the rank that measured it. */
  static void print(Metric metric, double value) {
    if (isFirst()) {
      System.out.println(metric.line(value));
    }
  }

  /** Takes numbers as a user does who asks for some at a time; returns what they add up to. */
  static long sum(Flux<Long> numbers) {
    long[] sum = new long[1];
    numbers.limitRate(Dose.DEMAND).doOnNext(number -> sum[0] += number).blockLast();
    return sum[0];
  }

  static IllegalArgumentException notOffered(Metric metric) {
    return new IllegalArgumentException(metric.label() + " is not offered here");
  }
}
