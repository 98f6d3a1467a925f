/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.am.Inbox;
import io.lci.am.Port;
import io.lci.error.PortClosedException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** A port that closes while it is flooded. [X13] */
@ExtendWith(LciLeakCheck.class)
class ClosedPortTest {
  private static final Port PORT = Port.of(38, "closes");
  private static final Duration LIMIT = Duration.ofSeconds(90);

  // Proves: X13
  // On: inproc, chaos
  @ParameterizedTest
  @ValueSource(strings = {"", "seed=11", "seed=12"})
  void whatIsInItIsCountedAndEverySenderIsTold(String chaos) {
    int senders = 3;
    int each = 5_000;
    LciOptions options = LciOptions.builder().attribute("chaos", chaos).build();
    try (LciTestJob job = LciTestJob.start(1 + senders, options)) {
      Inbox inbox = job.rank(0).inbox(PORT);
      long[] taken = new long[1];
      Mono<Long> reading = inbox.receive(m -> ++taken[0]).take(500).count();
      Flux<PostResult<Integer>> flood =
          Flux.range(1, senders)
              .flatMap(
                  rank ->
                      job.rank(rank)
                          .sender(PORT)
                          .route(
                              Flux.range(0, each),
                              n -> 0,
                              (n, out) -> out.putBytes(new byte[n % 3 == 0 ? 1_000 : 16])));
      Mono<List<PostResult<Integer>>> results = flood.collectList().cache();
      results.subscribe();
      assertThat(reading.block(LIMIT)).isEqualTo(500);
      await().atMost(LIMIT).until(() -> inbox.depth() > 100);
      inbox.dispose();
      inbox.onClose().block(LIMIT);
      List<PostResult<Integer>> all = results.block(LIMIT);
      assertThat(all).hasSize(senders * each);
      long accepted = all.stream().filter(PostResult::isSuccess).count();
      assertThat(all)
          .filteredOn(r -> !r.isSuccess())
          .isNotEmpty()
          .allSatisfy(
              r -> {
                assertThat(r.error()).isInstanceOf(PortClosedException.class);
                assertThat(r.error().rank()).isZero();
                assertThat(r.error().port()).isEqualTo(PORT.number());
              });
      // Every message that was accepted was taken, or is counted as discarded.
      await()
          .atMost(LIMIT)
          .untilAsserted(
              () ->
                  assertThat(taken[0] + job.rank(0).snapshot().counter("discarded"))
                      .isEqualTo(accepted));
      // All of it is usable again.
      Inbox again = job.rank(0).inbox(PORT);
      Mono<Long> received = again.receive(m -> m.getLong(0)).next();
      Mono<Void> resent =
          job.rank(1)
              .sender(PORT)
              .sendAll(0, Flux.just(5L), (n, out) -> out.putLong(n))
              .retryWhen(
                  reactor.util.retry.Retry.fixedDelay(1_000, Duration.ofMillis(5))
                      .filter(PortClosedException.class::isInstance));
      assertThat(Mono.zip(received, resent.thenReturn(1)).block(LIMIT).getT1()).isEqualTo(5);
    }
  }
}
