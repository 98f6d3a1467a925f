/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.LciOptions;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import io.micrometer.core.instrument.MockClock;
import io.micrometer.core.instrument.simple.SimpleConfig;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;

/** Meters of links, while ranks talk over TCP, or do not. */
@ExtendWith(LciLeakCheck.class)
class NetworkMetersJobTest {
  private static final Port NUMBERS = Port.of(1, "numbers");
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final int COUNT = 100;

  private final MockClock clock = new MockClock();
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry(SimpleConfig.DEFAULT, clock);

  private double gauge(String name) {
    clock.add(LciMetrics.SNAPSHOT_AGE);
    return registry.get(name).gauge().value();
  }

  private double counter(String name, String... tags) {
    clock.add(LciMetrics.SNAPSHOT_AGE);
    return registry.get(name).tags(tags).functionCounter().count();
  }

  private static LciOptions over(String transport) {
    return LciOptions.builder().attribute("transport", transport).build();
  }

  /** Rank 0 sends numbers to rank 1, until all have come. */
  private static void talk(LciTestJob job) {
    AtomicInteger came = new AtomicInteger();
    Disposable sink = job.rank(1).inbox(NUMBERS).handle(message -> came.incrementAndGet());
    Flux.range(0, COUNT)
        .concatMap(n -> job.rank(0).sender(NUMBERS).send(1, Payload.ofInt(n)))
        .blockLast(LIMIT);
    await().atMost(LIMIT).until(() -> came.get() == COUNT);
    sink.dispose();
  }

  @Test
  void whatGoesOverALinkIsMetered() {
    try (LciTestJob job = LciTestJob.start(2, over("tcp"));
        LciMetrics metrics = new LciMetrics(job.rank(0))) {
      metrics.bindTo(registry);
      assertThat(gauge("lci.net.links")).isEqualTo(1);
      double messages = counter("lci.net.messages");
      double bytes = counter("lci.net.transferred", "direction", "sent");
      talk(job);
      assertThat(counter("lci.net.messages") - messages).isGreaterThanOrEqualTo(COUNT);
      assertThat(counter("lci.net.transferred", "direction", "sent") - bytes)
          .isGreaterThan(COUNT * Integer.BYTES);
      assertThat(counter("lci.net.records", "direction", "sent")).isPositive();
      assertThat(counter("lci.net.records", "direction", "received")).isPositive();
      assertThat(counter("lci.net.transferred", "direction", "received")).isPositive();
      assertThat(counter("lci.net.reconnects")).isZero();
      assertThat(counter("lci.net.refusals")).isZero();
      assertThat(gauge("lci.net.fenced")).isZero();
    }
  }

  @Test
  void withinAHostThereAreNoLinks() {
    try (LciTestJob job = LciTestJob.start(2, over("shm"));
        LciMetrics metrics = new LciMetrics(job.rank(0))) {
      metrics.bindTo(registry);
      talk(job);
      assertThat(gauge("lci.net.links")).isZero();
      assertThat(counter("lci.net.messages")).isZero();
      assertThat(counter("lci.net.transferred", "direction", "sent")).isZero();
    }
  }
}
