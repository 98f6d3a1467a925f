/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench.jvm;

import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.am.Inbox;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.am.Sender;
import io.lci.metrics.LciMetrics;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.time.Duration;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/**
 * Flux to Flux between two ranks. Stream: messages of eight bytes, unbatched for the user, payload
 * read, with finite demand. Round trip: one message at a time; the other rank sends what it
 * receives.
 */
public final class LciBench {
  private static final Port THERE = Port.of(1, "there");
  private static final Port BACK = Port.of(2, "back");
  private static final int DEMAND = 256;
  private static final Duration SCRAPE = Duration.ofSeconds(1);

  private LciBench() {}

  /**
   * Measures; takes seconds.
   *
   * @param arguments name of the metric; and {@code metrics} for a runtime whose meters Prometheus
   *     scrapes every second
   */
  public static void main(String[] arguments) {
    boolean observed = arguments.length > 1 && arguments[1].equals("metrics");
    try (LciRuntime lci = LciRuntime.create(observed ? observed() : LciOptions.defaults())) {
      boolean stream = arguments[0].equals(JvmBench.STREAM);
      if (lci.rank() == 0) {
        if (stream) {
          sendStream(lci);
        } else {
          makeRoundTrips(lci);
        }
      } else if (stream) {
        takeStream(lci);
      } else {
        echo(lci);
      }
      lci.barrier().block();
    }
  }

  private static LciOptions observed() {
    PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    Flux.interval(SCRAPE).doOnNext(n -> registry.scrape()).subscribe();
    return LciOptions.builder().instrumentation(LciMetrics.instrumentation(registry)).build();
  }

  private static void sendStream(LciRuntime lci) {
    Sender sender = lci.sender(THERE);
    Inbox back = lci.inbox(BACK);
    long nanos = 0;
    for (int round = 1; round <= JvmBench.ROUNDS; round++) {
      long start = System.nanoTime();
      Mono<Integer> taken = back.receive(message -> 1).next();
      sender
          .sendAll(1, Flux.range(0, JvmBench.MESSAGES), (number, out) -> out.putLong(number))
          .then(taken)
          .block();
      nanos += round > JvmBench.WARM_UP ? System.nanoTime() - start : 0;
    }
    JvmBench.printStream(nanos);
  }

  private static void takeStream(LciRuntime lci) {
    Inbox inbox = lci.inbox(THERE);
    for (int round = 1; round <= JvmBench.ROUNDS; round++) {
      long[] sum = new long[1];
      inbox
          .receive(message -> message.getLong(0))
          .limitRate(DEMAND)
          .take(JvmBench.MESSAGES)
          .doOnNext(number -> sum[0] += number)
          .blockLast();
      JvmBench.checkSum(sum[0], JvmBench.MESSAGES);
      lci.sender(BACK).send(0, Payload.ofLong(round)).block();
    }
  }

  private static void makeRoundTrips(LciRuntime lci) {
    Sinks.Many<Long> serves = Sinks.many().unicast().onBackpressureBuffer();
    long[] nanos = new long[JvmBench.TRIPS];
    int[] trip = new int[1];
    long[] start = new long[1];
    Mono<Void> sent =
        lci.sender(THERE).sendAll(1, serves.asFlux(), (number, out) -> out.putLong(number));
    Mono<Void> returned =
        lci.inbox(BACK)
            .receive(message -> message.getLong(0))
            .take(JvmBench.TRIPS)
            .doOnNext(
                number -> {
                  long now = System.nanoTime();
                  nanos[trip[0]++] = now - start[0];
                  start[0] = now;
                  if (trip[0] < JvmBench.TRIPS) {
                    serves.tryEmitNext((long) trip[0]).orThrow();
                  } else {
                    serves.tryEmitComplete().orThrow();
                  }
                })
            .doOnSubscribe(subscription -> serves.tryEmitNext(0L).orThrow())
            .then();
    Mono.when(sent, returned).block();
    JvmBench.printRoundTrips(nanos);
  }

  private static void echo(LciRuntime lci) {
    lci.sender(BACK)
        .sendAll(
            0,
            lci.inbox(THERE).receive(message -> message.getLong(0)).take(JvmBench.TRIPS),
            (number, out) -> out.putLong(number))
        .block();
  }
}
