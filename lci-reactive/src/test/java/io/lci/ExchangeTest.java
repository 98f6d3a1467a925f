/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.am.Payload;
import io.lci.collective.World;
import io.lci.error.MemoryClosedException;
import io.lci.error.PeerLeftException;
import io.lci.rma.MemoryRegion;
import io.lci.rma.RemoteMemory;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;
import reactor.test.subscriber.TestSubscriber;

/** Bytes of every rank, on every rank. */
@ExtendWith(LciLeakCheck.class)
class ExchangeTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private static byte[] bytes(int rank, int round, int size) {
    byte[] bytes = new byte[size];
    Arrays.fill(bytes, (byte) (10 * round + rank));
    return bytes;
  }

  private static int length(int rank, int round) {
    return round == 3 ? World.MAX_EXCHANGE : 100 * round * (rank + 1);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4})
  void everyRankGetsWhatEveryRankGave(int size) {
    try (LciTestJob job = LciTestJob.start(size)) {
      List<Mono<List<byte[][]>>> all = new ArrayList<>();
      for (LciRuntime lci : job.ranks()) {
        all.add(
            Mono.defer(
                () -> {
                  takePartAndLeave(lci);
                  return Flux.range(0, 4)
                      .flatMapSequential(
                          round -> {
                            int length = length(lci.rank(), round);
                            return lci.world().exchange(bytes(lci.rank(), round, length));
                          })
                      .collectList();
                }));
      }
      for (List<byte[][]> rounds : Flux.merge(all).collectList().block(LIMIT)) {
        for (int round = 0; round < 4; round++) {
          assertThat(rounds.get(round).length).isEqualTo(size);
          for (int rank = 0; rank < size; rank++) {
            assertThat(rounds.get(round)[rank]).isEqualTo(bytes(rank, round, length(rank, round)));
          }
        }
      }
    }
  }

  /** Whoever cancels takes part all the same. Without demand, or the result might be under way. */
  private static void takePartAndLeave(LciRuntime lci) {
    TestSubscriber<byte[][]> leaver = TestSubscriber.builder().initialRequest(0).build();
    lci.world().exchange(new byte[] {1}).subscribe(leaver);
    leaver.cancel();
  }

  /** Or the first byte there, where a rank cannot see that it has ended. */
  @Test
  void aRegionThatHasEndedFailsTheExchange() {
    try (LciTestJob job = LciTestJob.start(2)) {
      MemoryRegion ended = job.rank(1).memory().allocate(64);
      ended.dispose();
      MemoryRegion living = job.rank(0).memory().allocate(64);
      List<Throwable> errors =
          Flux.just(job.rank(0).memory().exchange(living), job.rank(1).memory().exchange(ended))
              .flatMap(
                  all ->
                      all.flatMap(regions -> regions.get(1).put(0, Payload.ofLong(1)))
                          .<Throwable>map(done -> new AssertionError(done))
                          .onErrorResume(Mono::just))
              .collectList()
              .block(LIMIT);
      assertThat(errors).hasSize(2).allMatch(MemoryClosedException.class::isInstance);
    }
  }

  @Test
  void everyRankOpensTheRegionsOfAll() {
    try (LciTestJob job = LciTestJob.start(3)) {
      List<MemoryRegion> regions =
          job.ranks().stream().map(lci -> lci.memory().allocate(64)).toList();
      Flux.fromIterable(job.ranks())
          .flatMap(
              lci ->
                  lci.memory()
                      .exchange(regions.get(lci.rank()))
                      .flatMapMany(everyones -> putEverywhere(lci, everyones)))
          .blockLast(LIMIT);
      for (MemoryRegion region : regions) {
        for (int rank = 0; rank < 3; rank++) {
          assertThat(region.view(8L * rank, 8).getLong(0)).isEqualTo(100 + rank);
        }
        region.dispose();
      }
    }
  }

  private static Flux<Void> putEverywhere(LciRuntime lci, List<RemoteMemory> everyones) {
    assertThat(everyones).extracting(RemoteMemory::rank).containsExactly(0, 1, 2);
    return Flux.fromIterable(everyones)
        .flatMap(memory -> memory.put(8L * lci.rank(), Payload.ofLong(100 + lci.rank())));
  }

  /** It takes part without demand; the result waits for it, and comes on the loop. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void theResultWaitsForDemandAndComesOnTheLoop(int size) {
    try (LciTestJob job = LciTestJob.start(size)) {
      List<TestSubscriber<Boolean>> all = new ArrayList<>();
      for (LciRuntime lci : job.ranks()) {
        TestSubscriber<Boolean> subscriber = TestSubscriber.builder().initialRequest(0).build();
        onLoop(lci).subscribe(subscriber);
        all.add(subscriber);
      }
      List<Boolean> later =
          Flux.merge(job.ranks().stream().map(ExchangeTest::onLoop).toList())
              .collectList()
              .block(LIMIT);
      assertThat(later).hasSize(size).containsOnly(true);
      for (TestSubscriber<Boolean> subscriber : all) {
        assertThat(subscriber.getReceivedOnNext()).isEmpty();
        assertThat(subscriber.isTerminatedOrCancelled()).isFalse();
        subscriber.request(1);
        subscriber.block(LIMIT);
        assertThat(subscriber.getReceivedOnNext()).containsExactly(true);
      }
    }
  }

  private static Mono<Boolean> onLoop(LciRuntime lci) {
    return lci.world().exchange(new byte[] {1}).map(all -> lci.loops().get(0).inLoop());
  }

  @Test
  void aRankThatLeftEndsIt() {
    try (LciTestJob job = LciTestJob.start(2)) {
      StepVerifier.create(job.rank(0).world().exchange(new byte[1]))
          .expectSubscription()
          .then(() -> job.rank(1).close())
          .expectErrorSatisfies(
              e -> {
                assertThat(e).isInstanceOf(PeerLeftException.class);
                assertThat(((PeerLeftException) e).rank()).isEqualTo(1);
              })
          .verify(LIMIT);
      assertThatThrownBy(() -> job.rank(0).world().exchange(new byte[World.MAX_EXCHANGE + 1]))
          .isInstanceOf(IllegalArgumentException.class);
    }
  }
}
