/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench;

import io.lci.samples.bench.Sample.Side;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * One line of the table: a metric of ours, alone or beside one peer's.
 *
 * <p>The processors of a virtual machine move nearer and farther within seconds, so medians taken
 * at different times do not compare. The ratio is therefore the median of the ratios of the single
 * rounds.
 *
 * @param ours median of ours, in the rounds that have both
 * @param peer median of the peer; null without a peer
 * @param ratio median of ours / peer; null without a peer
 * @param runs number of rounds
 * @param lineNanos median round trip of a cache line in the same rounds; null if it was not
 *     measured
 */
record Comparison(
    String metric,
    String unit,
    double ours,
    @Nullable Double peer,
    @Nullable String peerName,
    @Nullable Double ratio,
    int runs,
    @Nullable Double lineNanos) {

  /**
   * Compares what was measured in the same rounds; a metric without a peer gets a line of its own.
   */
  static List<Comparison> of(List<Sample> samples) {
    List<Comparison> lines = new ArrayList<>();
    Set<String> metrics = new LinkedHashSet<>();
    samples.stream().filter(s -> s.side() == Side.OURS).forEach(s -> metrics.add(s.metric()));
    for (String metric : metrics) {
      List<Sample> ours = select(samples, Side.OURS, metric);
      Set<String> peers = new LinkedHashSet<>();
      select(samples, Side.PEER, metric).forEach(s -> peers.add(s.name()));
      if (peers.isEmpty()) {
        lines.add(alone(samples, ours));
      }
      for (String peer : peers) {
        Comparison line = beside(samples, ours, peer);
        lines.add(line == null ? alone(samples, ours) : line);
      }
    }
    return lines;
  }

  private static List<Sample> select(List<Sample> samples, Side side, String metric) {
    return samples.stream().filter(s -> s.side() == side && s.metric().equals(metric)).toList();
  }

  private static Comparison alone(List<Sample> samples, List<Sample> ours) {
    double[] values = ours.stream().mapToDouble(Sample::value).toArray();
    Sample first = ours.get(0);
    return new Comparison(
        first.metric(),
        first.unit(),
        median(values),
        null,
        null,
        null,
        values.length,
        line(samples, ours));
  }

  private static @Nullable Comparison beside(
      List<Sample> samples, List<Sample> ours, String peerName) {
    List<Sample> both = new ArrayList<>();
    List<Sample> others = new ArrayList<>();
    for (Sample mine : ours) {
      Sample other = find(samples, mine, peerName);
      if (other != null) {
        if (!other.unit().equals(mine.unit())) {
          throw new IllegalArgumentException(
              mine.metric()
                  + " is in "
                  + mine.unit()
                  + " here and in "
                  + other.unit()
                  + " at "
                  + peerName);
        }
        both.add(mine);
        others.add(other);
      }
    }
    if (both.isEmpty()) {
      return null;
    }
    double[] ratios = new double[both.size()];
    Arrays.setAll(ratios, i -> both.get(i).value() / others.get(i).value());
    return new Comparison(
        both.get(0).metric(),
        both.get(0).unit(),
        median(both.stream().mapToDouble(Sample::value).toArray()),
        median(others.stream().mapToDouble(Sample::value).toArray()),
        peerName,
        median(ratios),
        ratios.length,
        line(samples, both));
  }

  private static @Nullable Sample find(List<Sample> samples, Sample mine, String peerName) {
    for (Sample sample : samples) {
      if (sample.side() == Side.PEER
          && sample.pair() == mine.pair()
          && sample.name().equals(peerName)
          && sample.metric().equals(mine.metric())) {
        return sample;
      }
    }
    return null;
  }

  private static @Nullable Double line(List<Sample> samples, List<Sample> ours) {
    Set<Integer> pairs = new LinkedHashSet<>();
    ours.forEach(s -> pairs.add(s.pair()));
    String metric = ours.get(0).metric();
    double[] values =
        samples.stream()
            .filter(
                s -> s.side() == Side.LINE && s.metric().equals(metric) && pairs.contains(s.pair()))
            .mapToDouble(Sample::value)
            .toArray();
    return values.length == 0 ? null : median(values);
  }

  static double median(double[] values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    int middle = sorted.length / 2;
    return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }

  /** Whether less is better, told from the unit: times, processor shares and memory. */
  boolean lowerIsBetter() {
    return Set.of("ns", "us", "ms", "s", "%", "B", "MiB").contains(unit);
  }

  String toJson() {
    return String.format(
        Locale.ROOT,
        "{\"metric\":%s,\"unit\":%s,\"ours\":%s,\"peer\":%s,\"peer_name\":%s,\"ratio\":%s,\"runs\":%d,"
            + "\"line_roundtrip_ns\":%s}",
        quote(metric),
        quote(unit),
        number(ours),
        number(peer),
        peerName == null ? "null" : quote(peerName),
        number(ratio),
        runs,
        number(lineNanos));
  }

  private static String number(@Nullable Double value) {
    return value == null
        ? "null"
        : String.format(Locale.ROOT, "%.6g", Objects.requireNonNull(value));
  }

  private static String quote(String text) {
    return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
  }
}
