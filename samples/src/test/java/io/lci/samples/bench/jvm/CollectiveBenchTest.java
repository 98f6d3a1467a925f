/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench.jvm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.samples.EachRank;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;

/** The bench checks what its calls bring; here it only has to come to an end, with a figure. */
@ExtendWith(LciLeakCheck.class)
class CollectiveBenchTest {
  private static final double PART = 0.001;

  static Stream<Arguments> metrics() {
    return Stream.of(
            "barrier",
            "allreduce_8",
            "allreduce_64k",
            "broadcast_64k",
            "allgather_64k",
            "alltoall_1m")
        .flatMap(name -> Stream.of(Arguments.of(name, false), Arguments.of(name, true)));
  }

  @ParameterizedTest
  @MethodSource("metrics")
  void everyKindIsMeasured(String name, boolean heap) {
    CollectiveMetric metric = CollectiveMetric.of("coll_mono_" + name);
    try (LciTestJob job = LciTestJob.start(2)) {
      List<Double> values =
          EachRank.run(
              job,
              lci -> Mono.fromCallable(() -> CollectiveBench.measure(lci, metric, heap, PART)));
      assertThat(values).hasSize(2).allMatch(value -> value > 0 && Double.isFinite(value));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"coll_mono_barrier_8", "coll_mono_allreduce", "coll_allreduce_8", ""})
  void otherNamesAreRefused(String label) {
    assertThatThrownBy(() -> CollectiveMetric.of(label))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("no such metric: " + label);
  }

  @Test
  void aTimeIsInNanosecondsAndABandwidthInGigabytes() {
    assertThat(CollectiveMetric.of("coll_mono_allreduce_8").line(1250))
        .isEqualTo("{\"metric\":\"coll_mono_allreduce_8\",\"unit\":\"ns\",\"value\":1250.00}");
    assertThat(CollectiveMetric.of("coll_mono_alltoall_1m").line(2.5))
        .isEqualTo("{\"metric\":\"coll_mono_alltoall_1m\",\"unit\":\"GB/s\",\"value\":2.50000}");
  }
}
