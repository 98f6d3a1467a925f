/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ComparisonTest {
  private static List<Sample> samples(String... lines) {
    return Stream.of(lines).map(line -> Sample.parse(line.replace(' ', '\t'))).toList();
  }

  @Test
  void medianOfOddAndEvenCounts() {
    assertThat(Comparison.median(new double[] {9, 1, 5})).isEqualTo(5);
    assertThat(Comparison.median(new double[] {9, 1, 5, 7})).isEqualTo(6);
    assertThat(Comparison.median(new double[] {4})).isEqualTo(4);
  }

  /**
   * The machine was ten times slower in round 2, for both: the ratio of the rounds does not move.
   */
  @Test
  void ratioIsThatOfTheRoundsNotThatOfTheMedians() {
    List<Comparison> lines =
        Comparison.of(
            samples(
                "1 ours LCI am_rate Mmsg/s 20",
                "1 peer UCX am_rate Mmsg/s 10",
                "2 ours LCI am_rate Mmsg/s 2",
                "2 peer UCX am_rate Mmsg/s 1",
                "3 ours LCI am_rate Mmsg/s 3",
                "3 peer UCX am_rate Mmsg/s 1.5"));
    assertThat(lines)
        .singleElement()
        .satisfies(
            line -> {
              assertThat(line.ours()).isEqualTo(3);
              assertThat(line.peer()).isEqualTo(1.5);
              assertThat(line.ratio()).isCloseTo(2, within(1e-9));
              assertThat(line.runs()).isEqualTo(3);
              assertThat(line.lineNanos()).isNull();
            });
  }

  @Test
  void onlyRoundsWithBothCount() {
    List<Comparison> lines =
        Comparison.of(
            samples(
                "1 ours LCI latency ns 100",
                "1 line line latency ns 50",
                "2 ours LCI latency ns 300",
                "2 peer UCX latency ns 150",
                "2 line line latency ns 500"));
    assertThat(lines)
        .singleElement()
        .satisfies(
            line -> {
              assertThat(line.runs()).isEqualTo(1);
              assertThat(line.ours()).isEqualTo(300);
              assertThat(line.lineNanos()).isEqualTo(500);
            });
  }

  @Test
  void severalPeersGiveSeveralLinesAndNoPeerGivesOne() {
    List<Comparison> lines =
        Comparison.of(
            samples(
                "1 ours LCI a ns 1",
                "1 peer UCX a ns 2",
                "1 peer MPICH a ns 4",
                "1 ours LCI idle % 0.5",
                "1 peer UCX b ns 9"));
    assertThat(lines).extracting(Comparison::peerName).containsExactly("UCX", "MPICH", null);
    assertThat(lines.get(1).ratio()).isEqualTo(0.25);
    assertThat(lines.get(2).ratio()).isNull();
    assertThat(lines.get(2).lowerIsBetter()).isTrue();
  }

  @Test
  void differentUnitsAreAnError() {
    assertThatThrownBy(() -> Comparison.of(samples("1 ours LCI a ns 1", "1 peer UCX a us 2")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("a is in ns here and in us at UCX");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "1\tours\tLCI\ta\tns",
        "1\ttheirs\tLCI\ta\tns\t1",
        "x\tours\tLCI\ta\tns\t1",
        "1\tpeer\tUCX\ta\tns\t0",
        "1\tours\tLCI\ta\tns\t-1",
        "1\tours\tLCI\ta\tns\tNaN",
        "1\tours\tLCI\ta\tns\tInfinity",
        "1\tours\tLCI\ta\tns\tfast"
      })
  void whatIsNoSampleIsRefused(String line) {
    assertThatThrownBy(() -> Sample.parse(line))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(line);
  }

  @Test
  void jsonHoldsAllFields() {
    Comparison both = new Comparison("am_rate", "Mmsg/s", 20, 10.0, "raw \"ring\"", 2.0, 7, 55.5);
    assertThat(both.toJson())
        .isEqualTo(
            "{\"metric\":\"am_rate\",\"unit\":\"Mmsg/s\",\"ours\":20.0000,\"peer\":10.0000,"
                + "\"peer_name\":\"raw \\\"ring\\\"\",\"ratio\":2.00000,\"runs\":7,\"line_roundtrip_ns\":55.5000}");
    Comparison alone = new Comparison("idle", "%", 0.5, null, null, null, 7, null);
    assertThat(alone.toJson())
        .isEqualTo(
            "{\"metric\":\"idle\",\"unit\":\"%\",\"ours\":0.500000,\"peer\":null,\"peer_name\":null,"
                + "\"ratio\":null,\"runs\":7,\"line_roundtrip_ns\":null}");
  }

  @Test
  void tableMarksWhereLowerIsBetter() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    BenchTable.print(
        Comparison.of(
            samples(
                "1 ours LCI lat ns 100", "1 peer UCX lat ns 200", "1 ours LCI rate Mmsg/s 12.34")),
        new PrintStream(bytes, true, StandardCharsets.UTF_8));
    String[] rows = bytes.toString(StandardCharsets.UTF_8).split(System.lineSeparator());
    assertThat(rows[2]).containsSubsequence("lat", "ns ↓", "100", "200", "UCX", "0.50", "1");
    assertThat(rows[3]).containsSubsequence("rate", "Mmsg/s", "12.3").doesNotContain("↓");
  }
}
