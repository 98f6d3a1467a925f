/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench;

import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.ProgressStrategy;
import io.lci.am.Inbox;
import io.lci.am.InboxOptions;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.am.Sender;
import io.lci.am.SenderOptions;
import java.time.Duration;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Measures how long messages take over the device of a loop that user code holds, to an inbox that
 * lives on another loop: the 99th percentile of the way there and back, as one line of JSON. Rank 1
 * has two loops. The first is held for {@value #HOLD_MILLIS} ms again and again, asleep or
 * computing; the second answers what rank 0 sends over the device of the first.
 */
public final class HeldLoopBench {
  private static final Port REQUESTS = Port.of(1, "requests");
  private static final Port ANSWERS = Port.of(2, "answers");
  private static final int HOLD_MILLIS = 500;
  private static final int PERIOD_MILLIS = 10;
  private static final int MESSAGES = 1000;
  private static final int LEAST_MESSAGES = 100;
  private static final int HELD = 0;
  private static final int FREE = 1;
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private HeldLoopBench() {}

  /**
   * Measures.
   *
   * @param arguments {@code stuck_sleep_p99} or {@code stuck_compute_p99}; {@code local} or {@code
   *     help}
   */
  public static void main(String[] arguments) {
    if (arguments.length != 2) {
      throw new IllegalArgumentException("held-loop-bench METRIC PROGRESS");
    }
    String metric = arguments[0];
    LciOptions options =
        LciOptions.builder()
            .loops(2)
            .blockedWarning(Duration.ZERO)
            .progress(progress(arguments[1]))
            .build();
    try (LciRuntime lci = LciRuntime.create(options)) {
      if (lci.rank() == 0) {
        double millis = ask(lci, messages());
        System.out.printf(
            Locale.ROOT, "{\"metric\":\"%s\",\"unit\":\"ms\",\"value\":%.6g}%n", metric, millis);
      } else {
        answer(lci, messages(), hold(metric));
      }
    }
  }

  private static ProgressStrategy progress(String name) {
    return switch (name) {
      case "local" -> ProgressStrategy.local();
      case "help" -> ProgressStrategy.help();
      default -> throw new IllegalArgumentException("local or help: " + name);
    };
  }

  private static Runnable hold(String metric) {
    return switch (metric) {
      case "stuck_sleep_p99" ->
          () -> LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(HOLD_MILLIS));
      case "stuck_compute_p99" -> HeldLoopBench::compute;
      default -> throw new IllegalArgumentException("no such metric: " + metric);
    };
  }

  private static void compute() {
    long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(HOLD_MILLIS);
    while (System.nanoTime() - until < 0) {
      Thread.onSpinWait();
    }
  }

  /** As many as {@code ./lci bench --dose} asks for. */
  private static int messages() {
    String part = System.getenv("LCI_BENCH_DOSE");
    return Math.max(
        LEAST_MESSAGES, (int) (MESSAGES * (part == null ? 1 : Double.parseDouble(part))));
  }

  /** Sends at fixed times, whatever comes back; returns the 99th percentile in milliseconds. */
  private static double ask(LciRuntime lci, int messages) {
    Inbox answers = lci.inbox(ANSWERS, InboxOptions.builder().loop(FREE).build());
    Sender requests = lci.sender(REQUESTS, SenderOptions.builder().loop(HELD).build());
    Mono<double[]> waits =
        answers
            .receive(m -> (System.nanoTime() - m.getLong(0)) * 1e-6)
            .take(messages)
            .collectList()
            .map(all -> all.stream().mapToDouble(Double::doubleValue).sorted().toArray())
            .cache();
    waits.subscribe();
    lci.barrier().block(LIMIT);
    Flux.interval(Duration.ofMillis(PERIOD_MILLIS))
        .take(messages)
        .flatMap(tick -> Mono.defer(() -> requests.send(1, Payload.ofLong(System.nanoTime()))))
        .blockLast(LIMIT);
    double[] sorted = Objects.requireNonNull(waits.block(LIMIT));
    return sorted[(int) (sorted.length * 0.99)];
  }

  private static void answer(LciRuntime lci, int messages, Runnable hold) {
    Inbox requests = lci.inbox(REQUESTS, InboxOptions.builder().loop(FREE).build());
    Sender answers = lci.sender(ANSWERS, SenderOptions.builder().loop(FREE).build());
    lci.barrier().block(LIMIT);
    Disposable holding =
        lci.loops().get(HELD).scheduler().schedulePeriodically(hold, 0, 1, TimeUnit.MICROSECONDS);
    answers
        .sendAll(
            0, requests.receive(m -> m.getLong(0)).take(messages), (sent, out) -> out.putLong(sent))
        .block(LIMIT.multipliedBy(2));
    holding.dispose();
  }
}
