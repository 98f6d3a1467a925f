/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.am.Inbox;
import io.lci.am.InboxOptions;
import io.lci.am.Port;
import io.lci.am.Sender;
import io.lci.am.SenderOptions;
import io.lci.error.LciException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.test.StepVerifier;

/** Bulk sends: one slow destination, the window, failures as data, cancel. */
@Timeout(600) // only ends what hangs: a million messages under chaos take long on a busy machine
@ExtendWith(LciLeakCheck.class)
class BulkSendTest {
  private static final Port PORT = Port.of(11, "bulk");
  private static final Duration LIMIT = Duration.ofMinutes(9);
  private static final String RANDOM_RETRIES = "seed=3,refuse=0.2,short=0.2";
  private static final int MILLION = 1_000_000;
  private static final int SLOW_COUNT = 10_000;

  /**
   * [V2] Four publishers, one to a rank at demand 0: the three others complete, also when posts are
   * refused at random. Mutation: refusal_blocks_all.
   */
  // Proves: V2
  @ParameterizedTest(name = "chaos \"{0}\"")
  @ValueSource(strings = {"", RANDOM_RETRIES})
  void aSlowRankDelaysOnlyItsOwnPublisher(String chaos) {
    try (LciTestJob job = start(5, chaos)) {
      Inbox slow = job.rank(4).inbox(PORT);
      List<Mono<Void>> received = new ArrayList<>();
      for (int rank = 1; rank <= 3; rank++) {
        received.add(eachOnce(job.rank(rank).inbox(PORT), MILLION));
      }
      Sender sender = job.rank(0).sender(PORT);
      AtomicInteger slowTaken = new AtomicInteger();
      Disposable slowSending =
          sender
              .sendAll(
                  4,
                  Flux.range(0, SLOW_COUNT).doOnNext(n -> slowTaken.incrementAndGet()),
                  (n, out) -> out.putLong(n))
              .subscribe();
      Flux<Void> sending =
          Flux.range(1, 3)
              .flatMap(
                  rank -> sender.sendAll(rank, Flux.range(0, MILLION), (n, out) -> out.putLong(n)));
      Mono.when(Mono.when(received), sending.then()).block(LIMIT);
      assertThat(slowTaken.get())
          .isLessThanOrEqualTo(InboxOptions.DEFAULT_MESSAGES + 1 + SenderOptions.DEFAULT_WINDOW);
      assertThat(slowSending.isDisposed()).isFalse();
      eachOnce(slow, SLOW_COUNT).block(LIMIT);
      await().atMost(LIMIT).until(slowSending::isDisposed);
      assertThat(job.rank(0).snapshot().counter("chaos_refused") > 0).isEqualTo(!chaos.isEmpty());
    }
  }

  /** Publishers to one rank that is slow: none gets on by far more than a window beyond another. */
  @ParameterizedTest
  @ValueSource(ints = {1, 4, 16})
  void publishersToOneSlowRankGetOnAlike(int demand) {
    try (LciTestJob job = LciTestJob.start(2)) {
      Inbox slow = job.rank(1).inbox(PORT, InboxOptions.builder().messages(64).build());
      Sender sender = job.rank(0).sender(PORT);
      List<Disposable> sending = new ArrayList<>();
      for (int from = 0; from < 2 * SLOW_COUNT; from += SLOW_COUNT) {
        Flux<Integer> numbers = Flux.range(from, SLOW_COUNT);
        sending.add(sender.sendAll(1, numbers, (n, out) -> out.putLong(n)).subscribe());
      }
      int[] received = new int[2];
      slow.receive(m -> (int) m.getLong(0) / SLOW_COUNT)
          .limitRate(demand)
          .takeUntil(publisher -> ++received[publisher] == SLOW_COUNT)
          .blockLast(LIMIT);
      int rest = 2 * SLOW_COUNT - received[0] - received[1];
      assertThat(rest).isLessThanOrEqualTo(2 * SenderOptions.DEFAULT_WINDOW);
      slow.receive().take(rest).blockLast(LIMIT);
      await().atMost(LIMIT).until(() -> sending.stream().allMatch(Disposable::isDisposed));
    }
  }

  /**
   * [V2] One mixed publisher, the slow rank's elements at random places: others go on while those
   * fit the window. Mutation: refusal_blocks_all.
   */
  // Proves: V2
  @ParameterizedTest(name = "chaos \"{0}\"")
  @ValueSource(strings = {"", RANDOM_RETRIES})
  void aMixedPublisherGoesOnWhileTheSlowRanksElementsFitTheWindow(String chaos) {
    int slow = SenderOptions.DEFAULT_WINDOW;
    int count = MILLION + slow;
    BitSet isSlow = new BitSet(count);
    Random random = new Random(7);
    while (isSlow.cardinality() < slow) {
      isSlow.set(random.nextInt(count));
    }
    try (LciTestJob job = start(3, chaos)) {
      // Without demand: it stores what it has room for, and the rest waits in the window.
      Inbox inbox = job.rank(2).inbox(PORT, InboxOptions.builder().messages(8).build());
      BitSet seen = new BitSet(count);
      Mono<Void> fast =
          job.rank(1)
              .inbox(PORT)
              .receive(m -> (int) m.getLong(0))
              .take(MILLION)
              .doOnNext(n -> markOnce(seen, n))
              .then();
      AtomicInteger reported = new AtomicInteger();
      Disposable sending =
          job.rank(0)
              .sender(PORT)
              .route(Flux.range(0, count), n -> isSlow.get(n) ? 2 : 1, (n, out) -> out.putLong(n))
              .doOnNext(r -> reported.incrementAndGet())
              .subscribe();
      fast.block(LIMIT);
      assertThat(seen.intersects(isSlow)).isFalse();
      assertThat(sending.isDisposed()).isFalse();
      inbox
          .receive(m -> (int) m.getLong(0))
          .take(slow)
          .doOnNext(n -> markOnce(seen, n))
          .blockLast(LIMIT);
      assertThat(seen.cardinality()).isEqualTo(count);
      await().atMost(LIMIT).until(sending::isDisposed);
      assertThat(reported.get()).isEqualTo(count);
    }
  }

  private static LciTestJob start(int ranks, String chaos) {
    LciOptions.Builder options = LciOptions.builder();
    return LciTestJob.start(
        ranks, chaos.isEmpty() ? options.build() : options.attribute("chaos", chaos).build());
  }

  /** Complete when all numbers below {@code count} have come, each once. */
  private static Mono<Void> eachOnce(Inbox inbox, int count) {
    BitSet seen = new BitSet(count);
    return inbox
        .receive(m -> (int) m.getLong(0))
        .take(count)
        .doOnNext(n -> markOnce(seen, n))
        .then(Mono.fromRunnable(() -> assertThat(seen.nextClearBit(0)).isEqualTo(count)));
  }

  private static void markOnce(BitSet seen, int number) {
    if (seen.get(number)) {
      throw new AssertionError(number + " came twice");
    }
    seen.set(number);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 256, 1000})
  void everyWindowWorks(int window) {
    int count = 5_000;
    try (LciTestJob job = LciTestJob.start(2)) {
      Set<Long> seen = ConcurrentHashMap.newKeySet();
      Mono<Long> received =
          job.rank(1)
              .inbox(PORT, InboxOptions.builder().messages(8).build())
              .receive(m -> m.getLong(0))
              .doOnNext(seen::add)
              .take(count)
              .count();
      Sender sender = job.rank(0).sender(PORT, SenderOptions.builder().window(window).build());
      Mono<Long> results =
          sender
              .route(
                  Flux.range(0, count).hide().publishOn(Schedulers.parallel()),
                  n -> 1,
                  (n, out) -> out.putLong(n))
              .count();
      assertThat(Mono.zip(received, results).block(LIMIT).getT2()).isEqualTo(count);
      assertThat(seen).hasSize(count);
    }
  }

  @Test
  void resultsAreReportedAsFarAsRequestedAndUpstreamStopsMeanwhile() {
    try (LciTestJob job = LciTestJob.start(1)) {
      Disposable handling = job.rank(0).inbox(PORT).handle(m -> {});
      AtomicInteger taken = new AtomicInteger();
      Flux<PostResult<Integer>> results =
          job.rank(0)
              .sender(PORT, SenderOptions.builder().window(16).build())
              .route(
                  Flux.range(0, 100).doOnNext(n -> taken.incrementAndGet()),
                  n -> 0,
                  (n, out) -> out.putInt(n));
      StepVerifier.create(results, 0)
          .expectSubscription()
          .expectNoEvent(Duration.ofMillis(50))
          .thenRequest(10)
          .expectNextCount(10)
          .expectNoEvent(Duration.ofMillis(50))
          .then(() -> assertThat(taken.get()).isLessThanOrEqualTo(26))
          .thenRequest(Long.MAX_VALUE)
          .expectNextCount(90)
          .expectComplete()
          .verify(LIMIT);
      handling.dispose();
    }
  }

  @Test
  void failuresAreData() {
    try (LciTestJob job = LciTestJob.start(1)) {
      Disposable handling = job.rank(0).inbox(PORT).handle(m -> {});
      List<PostResult<Integer>> results =
          job.rank(0)
              .sender(PORT)
              .route(
                  Flux.range(0, 10),
                  n -> {
                    if (n == 3) {
                      throw new IllegalStateException("no way");
                    }
                    return n == 4 ? 99 : 0;
                  },
                  (n, out) -> {
                    if (n == 5) {
                      throw new IllegalStateException("no bytes");
                    }
                    out.putInt(n);
                  })
              .collectList()
              .block(LIMIT);
      handling.dispose();
      assertThat(results).hasSize(10);
      assertThat(results.stream().filter(PostResult::isSuccess).map(PostResult::item))
          .containsExactlyInAnyOrder(0, 1, 2, 6, 7, 8, 9);
      assertThat(error(results, 3)).hasMessageContaining("no way");
      assertThat(error(results, 4)).hasMessageContaining("rank 99");
      assertThat(error(results, 5)).hasMessageContaining("no bytes");
    }
  }

  private static LciException error(List<PostResult<Integer>> results, int item) {
    return results.stream().filter(r -> r.item() == item).findFirst().orElseThrow().error();
  }

  @Test
  void stopOnErrorEndsAndCancelsUpstream() {
    try (LciTestJob job = LciTestJob.start(1)) {
      Disposable handling = job.rank(0).inbox(PORT).handle(m -> {});
      AtomicInteger cancelled = new AtomicInteger();
      Flux<Integer> upstream =
          Flux.just(0, 0, 7, 0).concatWith(Flux.never()).doOnCancel(cancelled::incrementAndGet);
      StepVerifier.create(
              job.rank(0)
                  .sender(PORT, SenderOptions.builder().stopOnError(true).build())
                  .route(upstream, n -> n, (n, out) -> out.putInt(n)))
          .thenConsumeWhile(PostResult::isSuccess) // those that waited are discarded
          .expectErrorSatisfies(
              e -> assertThat(e).isInstanceOf(LciException.class).hasMessageContaining("rank 7"))
          .verify(LIMIT);
      await().atMost(LIMIT).until(() -> cancelled.get() == 1);
      handling.dispose();
    }
  }

  @Test
  void upstreamsErrorComesAfterTheResultsOfWhatItSent() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Flux<Integer> items =
          Flux.range(0, 500).concatWith(Flux.error(new IllegalStateException("upstream")));
      StepVerifier.create(job.rank(0).sender(PORT).route(items, n -> 1, (n, out) -> out.putInt(n)))
          .then(() -> job.rank(1).inbox(PORT))
          .expectNextCount(500)
          .expectErrorMessage("upstream")
          .verify(LIMIT);
    }
  }

  @Test
  void cancelDiscardsWhatWaitsAndCancelsUpstream() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<Object> discarded = new CopyOnWriteArrayList<>();
      AtomicInteger cancelled = new AtomicInteger();
      Flux<Integer> upstream =
          Flux.range(0, 100).concatWith(Flux.never()).doOnCancel(cancelled::incrementAndGet);
      Disposable sending =
          job.rank(0)
              .sender(PORT)
              .sendAll(1, upstream, (n, out) -> out.putInt(n))
              .doOnDiscard(Integer.class, discarded::add)
              .subscribe();
      await().atMost(LIMIT).until(() -> job.rank(0).snapshot().counter("loop_parked") == 99);
      sending.dispose();
      await().atMost(LIMIT).until(() -> discarded.size() == 99);
      assertThat(cancelled.get()).isEqualTo(1);
      assertThat(job.rank(0).snapshot().counter("loop_parked")).isZero();
    }
  }

  @Test
  void packetsAndBuffersAreBackpressuredToo() {
    int count = 20_000;
    byte[] bytes = new byte[8_000];
    try (LciTestJob job = LciTestJob.start(3)) {
      AtomicLong received = new AtomicLong();
      Flux<Long> both =
          Flux.range(0, 2)
              .flatMap(
                  rank ->
                      job.rank(rank)
                          .inbox(PORT)
                          .receive(m -> m.getLong(0) + m.getLong(m.size() - 8))
                          .doOnNext(v -> received.incrementAndGet())
                          .publishOn(Schedulers.parallel())
                          .take(count / 2));
      Mono<Long> sent =
          job.rank(2)
              .sender(PORT)
              .route(
                  Flux.range(0, count),
                  n -> n & 1,
                  (n, out) -> {
                    out.putLong(n);
                    out.putBytes(bytes, 0, n % 1000 == 0 ? 8_000 : 7_000);
                    out.putLong(1);
                  })
              .filter(PostResult::isSuccess)
              .count();
      var result = Mono.zip(both.reduce(0L, Long::sum), sent).block(LIMIT);
      assertThat(result.getT1()).isEqualTo((long) count * (count - 1) / 2 + count);
      assertThat(result.getT2()).isEqualTo(count);
    }
  }

  @Test
  void aFusedSourceThatFailsIsCancelled() {
    try (LciTestJob job = LciTestJob.start(1)) {
      AtomicInteger cancelled = new AtomicInteger();
      Port port = Port.of(79, "failing");
      Inbox inbox = job.rank(0).inbox(port);
      Flux<Integer> failing =
          Flux.range(0, 10)
              .doOnCancel(cancelled::incrementAndGet)
              .map(
                  n -> {
                    if (n == 3) {
                      throw new IllegalStateException("from the source");
                    }
                    return n;
                  });
      StepVerifier.create(job.rank(0).sender(port).sendAll(0, failing, (n, out) -> out.putInt(n)))
          .expectErrorMessage("from the source")
          .verify(Duration.ofSeconds(60));
      assertThat(cancelled).hasValue(1);
      assertThat(
              inbox.receive(m -> m.getInt(0)).take(3).collectList().block(Duration.ofSeconds(60)))
          .containsExactlyInAnyOrder(0, 1, 2);
    }
  }

  @Test
  void anEncoderMustNotPost() {
    try (LciTestJob job = LciTestJob.start(1)) {
      Poster poster = job.rank(0).loops().get(0).poster();
      StepVerifier.create(
              job.rank(0).sender(PORT).route(Flux.just(1), n -> 0, (n, out) -> poster.flush()))
          .assertNext(r -> assertThat(r.error()).hasMessageContaining("encoder must not post"))
          .expectComplete()
          .verify(LIMIT);
    }
  }
}
