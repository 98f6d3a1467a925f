/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench.jvm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

class DoseTest {
  private static final Dose SMALL = new Dose(64);

  @Test
  void isAPartOfTheMetricsAndAMultipleOfWhatIsUnderWay() {
    assertThat(Dose.of(Metric.AM_STREAM, 1, null).count()).isEqualTo(4_000_000);
    assertThat(Dose.of(Metric.AM_STREAM, 10, "0.01").count()).isEqualTo(4_000);
    assertThat(Dose.of(Metric.RMA_GET_64K, 1, "0.02").count()).isEqualTo(800);
    assertThat(Dose.of(Metric.RMA_GET_64K, 1, "0.01").count()).isEqualTo(384);
    assertThat(Dose.of(Metric.RMA_GET_64K, 10, "0.001").count()).isEqualTo(256);
    assertThatThrownBy(() -> new Dose(33)).isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void aWrongSumIsAnError() {
    assertThatCode(() -> SMALL.checkSum(2016)).doesNotThrowAnyException();
    assertThatThrownBy(() -> SMALL.checkSum(2015)).hasMessageContaining("2015, not 2016");
  }

  @Test
  void bothSidesDoTheSameRounds() {
    List<String> rounds = new ArrayList<>();
    assertThat(SMALL.rate(() -> rounds.add("first"))).isPositive();
    int first = rounds.size();
    SMALL.rounds(() -> rounds.add("second"));
    assertThat(rounds).hasSize(2 * first).contains("first", "second");
  }

  @Test
  void roundTripsCountInTheirSecondHalf() {
    assertThat(Dose.medianMicros(new long[] {9_000_000, 9_000_000, 9_000_000, 3, 1_000, 5_000}))
        .isEqualTo(1.0);
  }

  @Test
  void garbageIsWhatAllThreadsAllocate() {
    int bytes = 10_000;
    List<byte[]> kept = new ArrayList<>();
    Runnable allocate = () -> kept.add(new byte[bytes * SMALL.count()]);
    assertThat(SMALL.garbage(allocate)).isBetween(1.0 * bytes, 2.0 * bytes);

    Scheduler other = Schedulers.newSingle("other");
    try {
      Runnable there = () -> Mono.fromRunnable(allocate).subscribeOn(other).block();
      assertThat(SMALL.garbage(there)).isBetween(1.0 * bytes, 2.0 * bytes);
    } finally {
      other.dispose();
    }
  }

  @Test
  void aMetricIsFoundByItsNameAndPrintedAsTheScriptReadsIt() {
    for (Metric metric : Metric.values()) {
      assertThat(Metric.of(metric.label())).isSameAs(metric);
    }
    assertThatThrownBy(() -> Metric.of("am_steam")).hasMessageContaining("am_steam");
    assertThat(Metric.RPC_ROUND_TRIP.line(12.5))
        .isEqualTo("{\"metric\":\"rpc_round_trip\",\"unit\":\"us\",\"value\":12.5000}");
  }
}
