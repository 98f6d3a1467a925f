/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.am.Port;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** Messages from rank to rank, through every layer. */
@ExtendWith(LciLeakCheck.class)
class FirstFluxTest {
  private static final Port NUMBERS = Port.of(1, "numbers");
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final int COUNT = 100_000;
  private static final long SUM = (long) COUNT * (COUNT + 1) / 2;

  @Test
  void sumOfANeighboursNumbers() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Mono<Long> received = sum(job.rank(1), COUNT);
      Mono<Void> sent =
          job.rank(0).sender(NUMBERS).sendAll(1, Flux.range(1, COUNT), (n, out) -> out.putLong(n));
      assertThat(Mono.zip(received, sent.thenReturn(true)).block(LIMIT).getT1()).isEqualTo(SUM);
    }
  }

  @Test
  void aRankSendsToItself() {
    try (LciTestJob job = LciTestJob.start(1)) {
      Mono<Long> received = sum(job.rank(0), COUNT);
      Mono<Void> sent =
          job.rank(0).sender(NUMBERS).sendAll(0, Flux.range(1, COUNT), (n, out) -> out.putLong(n));
      assertThat(Mono.zip(received, sent.thenReturn(true)).block(LIMIT).getT1()).isEqualTo(SUM);
    }
  }

  @Test
  void upstreamOnAnotherThread() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Mono<Long> received = sum(job.rank(1), COUNT);
      Flux<Integer> items = Flux.range(1, COUNT).hide().publishOn(Schedulers.parallel());
      Mono<Void> sent = job.rank(0).sender(NUMBERS).sendAll(1, items, (n, out) -> out.putLong(n));
      assertThat(Mono.zip(received, sent.thenReturn(true)).block(LIMIT).getT1()).isEqualTo(SUM);
    }
  }

  @Test
  void routeReportsEveryElementOnce() {
    try (LciTestJob job = LciTestJob.start(3)) {
      Mono<Long> received =
          Flux.merge(sum(job.rank(0), COUNT / 2), sum(job.rank(1), COUNT / 2))
              .reduce(0L, Long::sum);
      Mono<Long> reported =
          job.rank(2)
              .sender(NUMBERS)
              .route(Flux.range(1, COUNT), n -> n & 1, (n, out) -> out.putLong(n))
              .filter(PostResult::isSuccess)
              .map(result -> (long) result.item())
              .reduce(0L, Long::sum);
      var both = Mono.zip(received, reported).block(LIMIT);
      assertThat(both.getT1()).isEqualTo(SUM);
      assertThat(both.getT2()).isEqualTo(SUM);
    }
  }

  @Test
  void payloadsOfEverySize() {
    int[] sizes = {
      0, 1, 8, 31, 32, 33, 95, 96, 97, 191, 192, 193, 1000, 8000, 9000, 70_000, 1 << 20
    };
    try (LciTestJob job = LciTestJob.start(2)) {
      Mono<Long> received =
          job.rank(1)
              .inbox(NUMBERS)
              .receive()
              .take(sizes.length)
              .doOnNext(m -> assertThat(m.toByteArray()).isEqualTo(pattern(m.size())))
              .doOnNext(m -> assertThat(m.tag()).isEqualTo(m.size()))
              .reduce(0L, (sum, m) -> sum + m.size());
      Mono<Void> sent =
          job.rank(0)
              .sender(NUMBERS)
              .sendAll(
                  1,
                  Flux.fromStream(java.util.Arrays.stream(sizes).boxed()),
                  (size, out) -> {
                    for (byte b : pattern(size)) {
                      out.putByte(b);
                    }
                    out.tag(size);
                  });
      long total = java.util.Arrays.stream(sizes).asLongStream().sum();
      assertThat(Mono.zip(received, sent.thenReturn(true)).block(LIMIT).getT1()).isEqualTo(total);
    }
  }

  private static byte[] pattern(int size) {
    byte[] bytes = new byte[size];
    for (int i = 0; i < size; i++) {
      bytes[i] = (byte) (i * 31 + size);
    }
    return bytes;
  }

  private static Mono<Long> sum(LciRuntime runtime, int count) {
    return runtime.inbox(NUMBERS).receive(m -> m.getLong(0)).take(count).reduce(0L, Long::sum);
  }
}
