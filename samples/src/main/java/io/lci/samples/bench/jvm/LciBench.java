/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench.jvm;

import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.metrics.LciMetrics;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.time.Duration;
import reactor.core.publisher.Flux;

/** Every metric between two ranks of ours. */
public final class LciBench {
  private static final Duration SCRAPE = Duration.ofSeconds(1);

  private LciBench() {}

  /**
   * Measures; takes seconds.
   *
   * @param arguments name of the metric; and {@code metrics} for a runtime whose meters Prometheus
   *     scrapes every second
   */
  public static void main(String[] arguments) {
    Metric metric = Metric.of(arguments[0]);
    boolean observed = arguments.length > 1 && arguments[1].equals("metrics");
    try (LciRuntime lci = LciRuntime.create(observed ? observed() : LciOptions.defaults())) {
      JvmBench.print(metric, measure(lci, metric, JvmBench.dose(metric, 1)));
    }
  }

  private static LciOptions observed() {
    PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    Flux.interval(SCRAPE).doOnNext(n -> registry.scrape()).subscribe();
    return LciOptions.builder().instrumentation(LciMetrics.instrumentation(registry)).build();
  }

  /**
   * Takes part in one measurement, to the end of it on both ranks.
   *
   * @return the figure on rank 0, nothing that means anything on rank 1
   */
  static double measure(LciRuntime lci, Metric metric, Dose dose) {
    double value =
        switch (metric) {
          case AM_STREAM,
              AM_ROUND_TRIP,
              OP_CHAINS,
              OP_WINDOW,
              OP_FLATMAP,
              GARBAGE_HANDLER,
              GARBAGE_DECODER,
              GARBAGE_MESSAGE ->
              MessageBench.measure(lci, metric, dose);
          case RPC_RESPONSE, RPC_ROUND_TRIP, RPC_STREAM, RPC_CHANNEL, STREAM_ITEMS ->
              CallBench.measure(lci, metric, dose);
          case RMA_GET_8 -> MemoryBench.rate(lci, dose);
          case RMA_GET_64K -> MemoryBench.bandwidth(lci, dose);
        };
    lci.barrier().block();
    return value;
  }
}
