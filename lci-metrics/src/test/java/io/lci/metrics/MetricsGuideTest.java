/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.GuidePage;
import io.lci.LciOptions;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** The snippet of docs/guide/metrics.md. */
@ExtendWith(LciLeakCheck.class)
class MetricsGuideTest {
  @Test
  void bind() {
    MeterRegistry registry = new SimpleMeterRegistry();
    // show: bind
    LciOptions options =
        LciOptions.builder().instrumentation(LciMetrics.instrumentation(registry)).build();
    // end
    try (LciTestJob job = LciTestJob.start(1, options)) {
      assertThat(registry.get("lci.packets.capacity").gauge().value())
          .isEqualTo(job.rank(0).snapshot().packetsCapacity());
    }
    assertThat(registry.getMeters()).isEmpty();
  }

  @Test
  void theGuideShowsWhatIsCompiledHere() throws IOException {
    GuidePage.assertShows("metrics.md", MetricsGuideTest.class, 1);
  }
}
