/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench.jvm;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.samples.EachRank;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.util.List;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.publisher.Mono;

/** The bench checks what arrives; here it only has to come to an end, with a figure. */
@ExtendWith(LciLeakCheck.class)
class LciBenchTest {
  private static final Dose DOSE = new Dose(16 * Dose.CONCURRENCY);

  @ParameterizedTest
  @EnumSource
  void everyMetricIsMeasuredOnTheFirstRank(Metric metric) {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<Double> values =
          EachRank.run(job, lci -> Mono.fromCallable(() -> LciBench.measure(lci, metric, DOSE)));
      assertThat(values).hasSize(2);
      assertThat(values.get(0)).isFinite().isPositive();
    }
  }
}
