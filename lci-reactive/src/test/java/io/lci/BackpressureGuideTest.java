/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.am.InboxOptions;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.am.Sender;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** The snippets of {@code docs/guide/backpressure.md}. */
@ExtendWith(LciLeakCheck.class)
class BackpressureGuideTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final Port EVENTS = Port.of(41, "events");

  @Test
  void sendAll() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Mono<Long> taken = taken(job.rank(1), 10_000);
      Sender sender = job.rank(0).sender(EVENTS);
      // show: send-all
      Mono<Void> sent = sender.sendAll(1, Flux.range(0, 10_000), (n, out) -> out.putLong(n));
      // end
      assertThat(both(taken, sent)).isEqualTo(10_000L * 9_999 / 2);
    }
  }

  @Test
  void route() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Mono<Long> even = taken(job.rank(0), 5_000);
      Mono<Long> odd = taken(job.rank(1), 5_000);
      LciRuntime lci = job.rank(0);
      Sender sender = lci.sender(EVENTS);
      // show: route
      Flux<PostResult<Integer>> failed =
          sender
              .route(Flux.range(0, 10_000), n -> n % lci.size(), (n, out) -> out.putLong(n))
              .filter(result -> result.error() != null); // failure is data: others go on
      // end
      Mono<Long> sum = Mono.zip(even, odd, Long::sum);
      Mono<List<PostResult<Integer>>> failures = failed.collectList();
      assertThat(both(sum, failures.doOnNext(list -> assertThat(list).isEmpty())))
          .isEqualTo(10_000L * 9_999 / 2);
    }
  }

  @Test
  void flatMap() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Mono<Long> taken = taken(job.rank(1), 1_000);
      Sender sender = job.rank(0).sender(EVENTS);
      // show: flat-map
      Mono<Void> sent =
          Flux.range(0, 1_000).flatMap(n -> sender.send(1, Payload.ofLong(n)), 16).then();
      // end
      assertThat(both(taken, sent)).isEqualTo(1_000L * 999 / 2);
    }
  }

  @Test
  void tryPost() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      AtomicInteger dropped = new AtomicInteger();
      // show: try-post
      Poster poster = lci.loops().get(0).poster();
      Runnable tick =
          () -> {
            PostOutcome outcome = poster.tryPost(Op.am(1, EVENTS, Payload.ofLong(1)));
            if (outcome.isRetry()) {
              dropped.incrementAndGet(); // a sample that may be lost; else poster.submit(op)
            }
          };
      // end
      // Nobody opened the port: one message is announced all the same, the second finds no credit.
      Flux.range(0, 3)
          .publishOn(lci.loops().get(0).scheduler())
          .doOnNext(n -> tick.run())
          .blockLast(LIMIT);
      assertThat(dropped).hasValue(2);
      assertThat(taken(job.rank(1), 1).block(LIMIT)).isEqualTo(1);
    }
  }

  @Test
  void aSlowStep() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(1);
      Function<Long, String> store = n -> "row " + n;
      // show: slow-step
      Flux<String> stored =
          lci.inbox(EVENTS, InboxOptions.builder().messages(64).build()) // at most 64 wait here
              .receive(m -> m.getLong(0))
              .publishOn(Schedulers.boundedElastic(), 16) // at most 16 wait there
              .map(store);
      // end
      Mono<Void> sending =
          job.rank(0).sender(EVENTS).sendAll(1, Flux.range(0, 1_000), (n, out) -> out.putLong(n));
      assertThat(both(stored.take(1_000).count(), sending)).isEqualTo(1_000);
    }
  }

  private static Mono<Long> taken(LciRuntime rank, int messages) {
    return rank.inbox(EVENTS).receive(m -> m.getLong(0)).take(messages).reduce(0L, Long::sum);
  }

  /** Subscribes both; returns what the first brought. */
  private static <T> T both(Mono<T> first, Mono<?> second) {
    return Mono.zip(first, second.then(Mono.just(true))).block(LIMIT).getT1();
  }

  @Test
  void theGuideShowsWhatIsCompiledHere() throws IOException {
    GuidePage.assertShows("backpressure.md", BackpressureGuideTest.class, 5);
  }
}
