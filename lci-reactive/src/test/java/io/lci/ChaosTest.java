/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.am.SenderOptions;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.BitSet;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Everything arrives exactly once over a transport that delays, reorders and refuses. The seed
 * names the run. Mutations: drop_delayed, post_twice.
 */
@ExtendWith(LciLeakCheck.class)
class ChaosTest {
  private static final Port PORT = Port.of(51, "chaos");
  private static final Duration LIMIT = Duration.ofSeconds(90);
  private static final int RANKS = 3;
  private static final int COUNT = 3_000;
  private static final int[] SIZES = {0, 8, 40, 180, 500, 7_000, 20_000};

  @ParameterizedTest(name = "seed {0}, deadline {1}")
  @CsvSource({"1,", "2,", "3,", "1,PT90S", "2,PT90S"})
  void bulkSendsOfEverySize(int seed, Duration deadline) {
    SenderOptions options = SenderOptions.defaults();
    SenderOptions bounded =
        deadline == null ? options : options.mutate().deadline(deadline).build();
    try (LciTestJob job = start(seed)) {
      Flux<Integer> received =
          Flux.range(0, RANKS)
              .flatMap(
                  rank -> {
                    BitSet seen = new BitSet(RANKS * COUNT);
                    return job.rank(rank)
                        .inbox(PORT)
                        .receive(
                            m -> {
                              assertThat(m.size()).isEqualTo(SIZES[(int) (m.tag() % SIZES.length)]);
                              for (int i = 0; i + 8 <= m.size(); i += 8) {
                                assertThat(m.getLong(i)).isEqualTo(m.tag() * 31 + i);
                              }
                              int id = m.rank() * COUNT + (int) m.tag();
                              assertThat(seen.get(id)).as("seen before").isFalse();
                              seen.set(id);
                              return 1;
                            })
                        .take(COUNT); // each rank gets a third of each
                  });
      Flux<Long> sent =
          Flux.range(0, RANKS)
              .flatMap(
                  rank ->
                      job.rank(rank)
                          .sender(PORT, bounded)
                          .route(
                              Flux.range(0, COUNT),
                              n -> (n + rank) % RANKS,
                              (n, out) -> {
                                int size = SIZES[n % SIZES.length];
                                for (int i = 0; i + 8 <= size; i += 8) {
                                  out.putLong(n * 31L + i);
                                }
                                for (int i = size & ~7; i < size; i++) {
                                  out.putByte(0);
                                }
                                out.tag(n);
                              })
                          .filter(PostResult::isSuccess)
                          .count());
      var both = Mono.zip(received.count(), sent.reduce(0L, Long::sum)).block(LIMIT);
      assertThat(both.getT1()).isEqualTo((long) RANKS * COUNT);
      assertThat(both.getT2()).isEqualTo((long) RANKS * COUNT);
      assertThat(job.rank(0).snapshot().counter("chaos_refused")).isPositive();
    }
  }

  @ParameterizedTest(name = "seed {0}")
  @ValueSource(ints = {1, 2, 3})
  void matchedMessagesAndBarriers(int seed) {
    try (LciTestJob job = start(seed)) {
      Flux<Long> received =
          Flux.range(0, 200)
              .flatMap(tag -> job.rank(1).tagged().receive(0, tag, 20_000).map(m -> m.tag()), 200);
      Flux<Void> sent =
          Flux.range(0, 200)
              .flatMap(
                  tag ->
                      job.rank(0)
                          .tagged()
                          .send(1, tag, Payload.of(new byte[SIZES[tag % SIZES.length]])),
                  200);
      Mono<Void> barriers =
          Flux.range(0, RANKS).flatMap(rank -> job.rank(rank).barrier().repeat(49)).then();
      assertThat(
              Mono.zip(
                      received.reduce(0L, Long::sum),
                      sent.then(Mono.just(1)),
                      barriers.thenReturn(1))
                  .block(LIMIT)
                  .getT1())
          .isEqualTo(199L * 200 / 2);
    }
  }

  private static LciTestJob start(int seed) {
    return LciTestJob.start(
        RANKS,
        LciOptions.builder()
            .attribute("chaos", "seed=" + seed + ",delay=0.2,ticks=12,refuse=0.1,short=0.2")
            .build());
  }
}
