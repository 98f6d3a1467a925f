/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import static io.lci.collective.StreamsOfAll.LIMIT;
import static io.lci.collective.StreamsOfAll.REASON;
import static io.lci.collective.StreamsOfAll.assertFailed;
import static io.lci.collective.StreamsOfAll.failure;
import static io.lci.collective.StreamsOfAll.meet;
import static io.lci.collective.StreamsOfAll.subscribed;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.error.CollectiveFailedException;
import io.lci.error.CollectiveMismatchException;
import io.lci.error.PeerFailedException;
import io.lci.error.PeerLeftException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.publisher.TestPublisher;
import reactor.test.subscriber.TestSubscriber;

/** Streams whose chunks all members combine. */
@ExtendWith(LciLeakCheck.class)
class ReducedStreamTest {

  private static long[] longs(Vec vec) {
    long[] values = new long[(int) vec.count()];
    ((ByteBuffer) vec.memory())
        .duplicate()
        .order(ByteOrder.LITTLE_ENDIAN)
        .asLongBuffer()
        .get(values);
    return values;
  }

  /** Chunk {@code n} of a rank. */
  private static Vec chunk(int rank, int n, int length) {
    return Vec.longs(LongStream.range(0, length).map(i -> (rank + 1) * (n + i)).toArray());
  }

  private static List<TestSubscriber<Long>> subscribe(
      LciTestJob job, long first, Function<LciRuntime, Flux<Vec>> chunks, StreamOptions options) {
    return subscribed(
        job,
        first,
        lci ->
            lci.world()
                .streams()
                .allReduce(chunks.apply(lci), ReduceOp.SUM, options)
                .map(vec -> LongStream.of(longs(vec)).sum()));
  }

  // Proves: J26
  // On: inproc
  @ParameterizedTest
  @CsvSource({"1,100,3", "2,300,1", "3,200,5", "4,100,1000", "3,0,1", "2,20,0"})
  void chunksOfAllAreCombinedInOrder(int ranks, int chunks, int length) {
    try (LciTestJob job = LciTestJob.start(ranks)) {
      List<Mono<List<long[]>>> each = new ArrayList<>();
      for (LciRuntime lci : job.ranks()) {
        Flux<Vec> source = Flux.range(0, chunks).map(n -> chunk(lci.rank(), n, length));
        each.add(
            lci.world()
                .streams()
                .allReduce(source, ReduceOp.SUM)
                .map(ReducedStreamTest::longs)
                .collectList());
      }
      List<List<long[]>> got = Flux.mergeSequential(each, ranks, 1).collectList().block(LIMIT);
      int factor = ranks * (ranks + 1) / 2;
      for (List<long[]> one : got) {
        assertThat(one).hasSize(chunks);
        for (int n = 0; n < chunks; n++) {
          int number = n;
          assertThat(one.get(n))
              .isEqualTo(
                  LongStream.range(0, length).map(i -> (long) factor * (number + i)).toArray());
        }
      }
    }
  }

  // Proves: J26
  // On: chaos
  @ParameterizedTest(name = "seed {0}")
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20})
  void underChaosTheyAreTheSame(long seed) {
    System.out.println("chaos seed " + seed);
    LciOptions options =
        LciOptions.builder()
            .attribute("chaos", "seed=" + seed + ",delay=0.3,ticks=64,refuse=0.1,short=0.2")
            .build();
    try (LciTestJob job = LciTestJob.start(3, options)) {
      StreamOptions small = StreamOptions.builder().windowItems(1 + (int) seed % 5).build();
      List<TestSubscriber<Long>> all =
          subscribe(
              job,
              Long.MAX_VALUE,
              lci -> Flux.range(0, 60).map(n -> chunk(lci.rank(), n, 1)),
              small);
      for (TestSubscriber<Long> one : all) {
        await().atMost(LIMIT).until(one::isTerminatedComplete);
        assertThat(one.getReceivedOnNext())
            .containsExactlyElementsOf(LongStream.range(0, 60).map(n -> 6 * n).boxed().toList());
      }
    }
  }

  /** The others are ahead by a window and no more. */
  // Proves: J26
  // On: inproc
  @Test
  void theSlowestMemberSetsThePace() {
    try (LciTestJob job = LciTestJob.start(3)) {
      AtomicInteger taken = new AtomicInteger();
      StreamOptions options = StreamOptions.builder().windowItems(8).build();
      List<TestSubscriber<Long>> all =
          subscribe(
              job,
              2,
              lci ->
                  Flux.range(0, 200)
                      .map(n -> chunk(lci.rank(), n, 1))
                      .doOnNext(n -> taken.incrementAndGet()),
              options);
      all.get(0).request(Long.MAX_VALUE);
      all.get(2).request(Long.MAX_VALUE);
      await()
          .atMost(LIMIT)
          .untilAsserted(
              () -> assertThat(all.get(0).getReceivedOnNext()).hasSizeGreaterThanOrEqualTo(10));
      meet(job);
      assertThat(taken.get()).isLessThanOrEqualTo(3 * (2 + 8 + 8));
      assertThat(all.get(1).getReceivedOnNext()).hasSize(2);
      all.get(1).cancel();
      for (int rank : new int[] {0, 2}) {
        await().atMost(LIMIT).until(all.get(rank)::isTerminatedComplete);
        assertThat(all.get(rank).getReceivedOnNext()).hasSize(200);
      }
    }
  }

  /** All get what they have in common, however slow they are. */
  // Proves: J26
  // On: inproc
  @ParameterizedTest
  @CsvSource({
    "0,true,4",
    "1,true,4",
    "2,true,4",
    "0,false,4",
    "1,false,4",
    "2,false,4",
    "1,false,200"
  })
  void membersThatDoNotFitEachOtherEndBehindWhatTheyHaveInCommon(
      int odd, boolean fewer, int window) {
    // With the large one its bytes are the limit: what waits for it is not wanted any more
    StreamOptions options = StreamOptions.builder().windowItems(window).windowBytes(1_024).build();
    try (LciTestJob job = LciTestJob.start(3)) {
      List<TestSubscriber<Long>> all =
          subscribe(
              job,
              fewer ? Long.MAX_VALUE : 1,
              lci ->
                  Flux.range(0, fewer && lci.rank() == odd ? 40 : 300)
                      .map(n -> chunk(lci.rank(), n, lci.rank() == odd && n == 40 ? 2 : 1)),
              options);
      for (TestSubscriber<Long> one : all) {
        one.request(Long.MAX_VALUE);
      }
      for (TestSubscriber<Long> one : all) {
        assertFailed(one, CollectiveMismatchException.class);
        assertThat(one.expectTerminalError()).hasMessageContaining("at element 40");
        assertThat(one.getReceivedOnNext())
            .containsExactlyElementsOf(LongStream.range(0, 40).map(n -> 6 * n).boxed().toList());
      }
      // And the group goes on
      Mono.when(job.ranks().stream().map(lci -> lci.world().barrier()).toList()).block(LIMIT);
    }
  }

  /** Also when one that knows it has left, and another has results that nobody asked for. */
  // Proves: J26
  // On: inproc
  @ParameterizedTest
  @CsvSource({"10,true,32", "10,false,32", "5,true,4", "5,false,4"})
  void oneThatLeavesBehindAMismatchTakesNothingFromTheOthers(int at, boolean fewer, int window) {
    // With the small one the others have no room for the round that does not fit
    StreamOptions options = StreamOptions.builder().windowItems(window).build();
    try (LciTestJob job = LciTestJob.start(3)) {
      List<TestSubscriber<Long>> all =
          subscribe(
              job,
              1,
              lci ->
                  Flux.range(0, fewer && lci.rank() == 2 ? at : 20)
                      .map(n -> chunk(lci.rank(), n, lci.rank() == 2 && n == at ? 2 : 1)),
              options);
      all.get(1).request(Long.MAX_VALUE);
      assertFailed(all.get(1), CollectiveMismatchException.class);
      job.rank(1).close();
      for (int rank : new int[] {0, 2}) {
        awaitGone(job.rank(rank));
      }
      assertThat(all.get(0).isTerminated()).isFalse();
      for (int rank : new int[] {0, 2}) {
        TestSubscriber<Long> one = all.get(rank);
        one.request(Long.MAX_VALUE);
        assertFailed(one, CollectiveMismatchException.class);
        assertThat(one.expectTerminalError()).hasMessageContaining("at element " + at);
        assertThat(one.getReceivedOnNext())
            .containsExactlyElementsOf(LongStream.range(0, at).map(n -> 6 * n).boxed().toList());
      }
    }
  }

  /** Its streams have heard that a member left. */
  private static void awaitGone(LciRuntime lci) {
    CollectiveContext other = lci.world().context(9);
    await()
        .atMost(LIMIT)
        .until(
            () -> {
              TestSubscriber<Vec> one = TestSubscriber.create();
              other.streams().allReduce(Flux.never(), ReduceOp.SUM).subscribe(one);
              one.block(Duration.ofMillis(200));
              return one.isTerminatedError();
            });
  }

  /** A source that fails when it is cancelled does not hide why. */
  // Proves: J26
  // On: inproc
  @Test
  void aLateErrorDoesNotHideAMismatch() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<TestSubscriber<Long>> all =
          subscribe(
              job,
              1,
              lci ->
                  failingAtCancel(
                      Flux.range(0, 20)
                          .map(n -> chunk(lci.rank(), n, lci.rank() == 1 && n == 10 ? 2 : 1))
                          .concatWith(Flux.never())),
              StreamOptions.defaults());
      for (TestSubscriber<Long> one : all) {
        await().atMost(LIMIT).until(() -> one.getReceivedOnNext().size() == 1);
        one.request(Long.MAX_VALUE);
      }
      for (TestSubscriber<Long> one : all) {
        assertFailed(one, CollectiveMismatchException.class);
        assertThat(one.getReceivedOnNext()).hasSize(10);
      }
    }
  }

  private static Flux<Vec> failingAtCancel(Flux<Vec> of) {
    return new Flux<>() {
      @Override
      public void subscribe(CoreSubscriber<? super Vec> actual) {
        of.subscribe(
            new BaseSubscriber<Vec>() {
              @Override
              protected void hookOnSubscribe(Subscription s) {
                actual.onSubscribe(
                    new Subscription() {
                      @Override
                      public void request(long n) {
                        s.request(n);
                      }

                      @Override
                      public void cancel() {
                        s.cancel();
                        actual.onError(REASON);
                      }
                    });
              }

              @Override
              protected void hookOnNext(Vec vec) {
                actual.onNext(vec);
              }
            });
      }
    };
  }

  /** Each chunk is combined or given back. */
  // Proves: J26
  // On: inproc
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2})
  void chunksThatAreNotCombinedAreDiscarded(int odd) {
    try (LciTestJob job = LciTestJob.start(3)) {
      List<TestSubscriber<Vec>> all = new ArrayList<>();
      List<AtomicInteger> brought = new ArrayList<>();
      List<List<Vec>> discarded = new ArrayList<>();
      for (LciRuntime lci : job.ranks()) {
        TestSubscriber<Vec> one = TestSubscriber.create();
        all.add(one);
        AtomicInteger mine = new AtomicInteger();
        brought.add(mine);
        List<Vec> back = Collections.synchronizedList(new ArrayList<>());
        discarded.add(back);
        Flux<Vec> source =
            Flux.range(0, 60)
                .map(n -> chunk(lci.rank(), n, lci.rank() == odd && n == 40 ? 2 : 1))
                .doOnNext(vec -> mine.incrementAndGet())
                .concatWith(Flux.never());
        lci.world()
            .streams()
            .allReduce(source, ReduceOp.SUM)
            .doOnDiscard(Vec.class, back::add)
            .subscribe(one);
      }
      all.forEach(one -> assertFailed(one, CollectiveMismatchException.class));
      meet(job);
      for (int rank = 0; rank < 3; rank++) {
        assertThat(discarded.get(rank)).hasSize(brought.get(rank).get() - 40);
      }
    }
  }

  /** The others have not brought theirs of the round. */
  // Proves: J26
  // On: inproc
  @Test
  void aChunkWhoseRoundDoesNotComeIsDiscarded() {
    try (LciTestJob job = LciTestJob.start(2)) {
      AtomicInteger discarded = new AtomicInteger();
      AtomicInteger asked = new AtomicInteger();
      TestSubscriber<Vec> one = TestSubscriber.create();
      TestPublisher<Vec> other = TestPublisher.create();
      job.rank(0)
          .world()
          .streams()
          .allReduce(
              Flux.range(0, 3)
                  .map(n -> chunk(0, n, 1))
                  .doOnNext(vec -> asked.incrementAndGet())
                  .concatWith(Flux.never()),
              ReduceOp.SUM)
          .doOnDiscard(Vec.class, vec -> discarded.incrementAndGet())
          .subscribe(one);
      job.rank(1)
          .world()
          .streams()
          .allReduce(other, ReduceOp.SUM)
          .subscribe(TestSubscriber.create());
      await().atMost(LIMIT).until(() -> asked.get() == 3);
      meet(job);
      other.error(REASON);
      assertFailed(one, CollectiveFailedException.class);
      meet(job);
      assertThat(discarded.get()).isEqualTo(3);
    }
  }

  @Test
  void differentOperatorsAreAMismatch() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<TestSubscriber<Vec>> all = new ArrayList<>();
      for (LciRuntime lci : job.ranks()) {
        TestSubscriber<Vec> one = TestSubscriber.create();
        all.add(one);
        ReduceOp op = lci.rank() == 0 ? ReduceOp.SUM : ReduceOp.MAX;
        lci.world().streams().allReduce(Flux.never(), op).subscribe(one);
      }
      all.forEach(one -> assertFailed(one, CollectiveMismatchException.class));
    }
  }

  @Test
  void anErrorEndsItOnAll() {
    try (LciTestJob job = LciTestJob.start(3)) {
      List<TestSubscriber<Long>> all =
          subscribe(
              job,
              Long.MAX_VALUE,
              lci ->
                  Flux.range(0, 30)
                      .map(n -> chunk(lci.rank(), n, 1))
                      .concatWith(lci.rank() == 1 ? Flux.error(REASON) : Flux.never()),
              StreamOptions.defaults());
      assertThat(failure(all.get(1))).isSameAs(REASON);
      assertFailed(all.get(0), CollectiveFailedException.class);
      assertFailed(all.get(2), CollectiveFailedException.class);
      Mono.when(job.ranks().stream().map(lci -> lci.world().barrier()).toList()).block(LIMIT);
    }
  }

  @Test
  void aTypeThatTheOperatorDoesNotServeEndsItOnAll() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<TestSubscriber<Long>> all =
          subscribe(
              job,
              Long.MAX_VALUE,
              lci -> Flux.just(Vec.longs(new long[2]).as(DataType.I64_I64)),
              StreamOptions.defaults());
      all.forEach(one -> await().atMost(LIMIT).until(one::isTerminatedError));
      assertThat(all)
          .anySatisfy(
              one ->
                  assertThat(one.expectTerminalError())
                      .isInstanceOf(IllegalArgumentException.class)
                      .hasMessageContaining("SUM does not serve I64_I64"));
    }
  }

  @Test
  void aDeathEndsItOnAll() {
    try (LciTestJob job = LciTestJob.start(3)) {
      List<TestSubscriber<Long>> all =
          subscribe(
              job,
              Long.MAX_VALUE,
              lci -> Flux.range(0, 5).map(n -> chunk(lci.rank(), n, 1)).concatWith(Flux.never()),
              StreamOptions.defaults());
      await().atMost(LIMIT).until(() -> all.get(0).getReceivedOnNext().size() == 5);
      job.rank(2).abort();
      for (int rank = 0; rank < 2; rank++) {
        assertFailed(all.get(rank), PeerFailedException.class);
      }
    }
  }

  /**
   * Its source has completed, and it has results that nobody asked for: others wait for its calls.
   */
  // Proves: J26
  // On: inproc
  @ParameterizedTest
  @CsvSource({"2,true", "3,true", "2,false", "3,false"})
  void aMemberThatLeavesBehindItsSourceEndsItForTheOthers(int ranks, boolean othersWait) {
    StreamOptions options = StreamOptions.builder().windowItems(4).build();
    try (LciTestJob job = LciTestJob.start(ranks)) {
      List<TestSubscriber<Long>> all =
          subscribe(job, 1, lci -> Flux.range(0, 6).map(n -> chunk(lci.rank(), n, 1)), options);
      List<TestSubscriber<Long>> others = all.subList(0, ranks - 1);
      if (othersWait) {
        others.forEach(one -> one.request(Long.MAX_VALUE));
      }
      int before = othersWait ? 5 : 1;
      for (TestSubscriber<Long> one : others) {
        await().atMost(LIMIT).until(() -> one.getReceivedOnNext().size() == before);
      }
      meet(job);
      job.rank(ranks - 1).close();
      for (int rank = 0; rank < ranks - 1; rank++) {
        awaitGone(job.rank(rank));
      }
      others.forEach(one -> one.request(Long.MAX_VALUE));
      others.forEach(one -> assertFailed(one, PeerLeftException.class));
    }
  }

  /** Each has a context of its own for its calls. */
  @Test
  void severalAreUnderWay() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<Mono<Long>> counts = new ArrayList<>();
      for (int i = 0; i < 5; i++) {
        for (LciRuntime lci : job.ranks()) {
          counts.add(
              lci.world()
                  .streams()
                  .allReduce(Flux.range(0, 100).map(n -> chunk(lci.rank(), n, 3)), ReduceOp.MAX)
                  .count());
        }
      }
      assertThat(Flux.merge(Flux.fromIterable(counts), 10).collectList().block(LIMIT))
          .hasSize(10)
          .allMatch(count -> count == 100);
    }
  }
}
