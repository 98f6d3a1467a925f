/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.sun.management.ThreadMXBean;
import io.lci.LciInstrumentation;
import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.Op;
import io.lci.am.Port;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Metrics cost no memory for a message: the loops count and time, the scrape pays. */
@ExtendWith(LciLeakCheck.class)
class MetricsAllocationTest {
  private static final Port PORT = Port.of(1, "numbers");
  private static final Duration LIMIT = Duration.ofSeconds(100);
  private static final int COUNT = 200_000;

  /** Boxed once: the numbers themselves are not what is measured. */
  private static final Long NUMBER = 77L;

  private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
  private final AtomicLong received = new AtomicLong();

  private static long threadOf(LciRuntime lci) {
    return Mono.fromCallable(() -> Thread.currentThread().getId())
        .subscribeOn(lci.loops().get(0).scheduler())
        .block(LIMIT);
  }

  private void send(LciTestJob job, int count) {
    long until = received.get() + count;
    Flux<Long> numbers = Flux.range(0, count).map(n -> NUMBER);
    job.rank(0).sender(PORT).sendAll(1, numbers, (n, out) -> out.putLong(n)).block(LIMIT);
    await().atMost(LIMIT).until(() -> received.get() == until);
  }

  /** Bytes that both loops allocated while so many messages went. */
  private long allocated(LciInstrumentation instrumentation) {
    LciOptions options = LciOptions.builder().instrumentation(instrumentation).build();
    try (LciTestJob job = LciTestJob.start(2, options)) {
      long[] loops = {threadOf(job.rank(0)), threadOf(job.rank(1))};
      job.rank(1)
          .inbox(PORT)
          .handle(message -> received.lazySet(received.get() + message.size() / Long.BYTES));
      send(job, COUNT); // compiled, and every table has its size
      long before = sum(threads.getThreadAllocatedBytes(loops));
      send(job, COUNT);
      return sum(threads.getThreadAllocatedBytes(loops)) - before;
    }
  }

  private static long sum(long[] values) {
    long sum = 0;
    for (long value : values) {
      assertThat(value).isNotNegative();
      sum += value;
    }
    return sum;
  }

  @Test
  void metersAllocateNothingForAMessage() {
    PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    AtomicLong timed = new AtomicLong();
    LciInstrumentation metrics = LciMetrics.instrumentation(registry);
    LciInstrumentation counting =
        new LciInstrumentation() {
          @Override
          public void operationTimed(Op.Kind kind, int device, long nanos) {
            timed.lazySet(timed.get() + 1);
            metrics.operationTimed(kind, device, nanos);
          }

          @Override
          public void runtimeStarted(LciRuntime runtime) {
            metrics.runtimeStarted(runtime);
          }

          @Override
          public void runtimeClosed(LciRuntime runtime) {
            metrics.runtimeClosed(runtime);
          }
        };
    // Some of the source's work is done in the loop, with or without meters.
    long without = allocated(LciInstrumentation.NONE);
    long with = allocated(counting);
    assertThat(timed).as("operations that were timed").hasPositiveValue();
    assertThat(with - without).as("bytes for %s messages", COUNT).isLessThan(COUNT / 2);
  }
}
