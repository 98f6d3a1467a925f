/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import static io.lci.collective.StreamsOfAll.LIMIT;
import static io.lci.collective.StreamsOfAll.REASON;
import static io.lci.collective.StreamsOfAll.assertFaultOf;
import static io.lci.collective.StreamsOfAll.failure;
import static io.lci.collective.StreamsOfAll.failures;
import static io.lci.collective.StreamsOfAll.meet;
import static io.lci.collective.StreamsOfAll.none;
import static io.lci.collective.StreamsOfAll.shuffled;
import static io.lci.collective.StreamsOfAll.subscribed;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.lci.Codec;
import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.error.CollectiveFailedException;
import io.lci.error.CollectiveMismatchException;
import io.lci.error.LciClosedException;
import io.lci.error.OperationCancelledException;
import io.lci.error.PeerFailedException;
import io.lci.error.PeerLeftException;
import io.lci.error.ResourceExhaustedException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.IntFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;
import reactor.test.publisher.TestPublisher;
import reactor.test.subscriber.TestSubscriber;

/** Streams of groups that do not go well, and what becomes of items that nobody takes. */
@ExtendWith(LciLeakCheck.class)
class GroupStreamEndsTest {

  // Proves: J25
  // On: inproc
  @Test
  void anOwnerThatThrowsEndsItEverywhere() {
    try (LciTestJob job = LciTestJob.start(3)) {
      List<Throwable> failures =
          failures(
              job,
              lci ->
                  shuffled(
                      lci,
                      Flux.range(0, 100).concatWith(Flux.never()),
                      n -> {
                        if (lci.rank() == 2 && n == 50) {
                          throw REASON;
                        }
                        return n % 3;
                      },
                      Codec.INT));
      assertFaultOf(2, failures, REASON);
    }
  }

  @Test
  void anOwnerThatIsNoMemberEndsItEverywhere() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<Throwable> failures =
          failures(job, lci -> shuffled(lci, Flux.just(1), n -> 2 - 3 * lci.rank(), Codec.INT));
      assertThat(failures)
          .anySatisfy(
              e ->
                  assertThat(e)
                      .isInstanceOf(IllegalArgumentException.class)
                      .hasMessageContaining("members are 0 to 1"));
    }
  }

  // Proves: J25
  // On: inproc
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aCodecThatThrowsEndsItEverywhere(boolean encoding) {
    try (LciTestJob job = LciTestJob.start(3)) {
      Codec<Integer> bad =
          Codec.of(
              (n, out) -> {
                if (encoding && n == 50) {
                  throw REASON;
                }
                out.putInt(n);
              },
              in -> {
                if (!encoding && in.getInt(0) == 50) {
                  throw REASON;
                }
                return in.getInt(0);
              });
      List<Throwable> failures =
          failures(
              job,
              lci ->
                  shuffled(
                      lci,
                      lci.rank() == 1 ? Flux.range(0, 100).concatWith(Flux.never()) : Flux.never(),
                      n -> 0,
                      bad));
      assertFaultOf(encoding ? 1 : 0, failures, REASON);
    }
  }

  @Test
  void aCodecThatReturnsNullEndsIt() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Codec<Integer> nothing = Codec.of((n, out) -> out.putInt(n), in -> null);
      List<Throwable> failures =
          failures(job, lci -> shuffled(lci, Flux.just(1), n -> 1 - lci.rank(), nothing));
      assertThat(failures)
          .anySatisfy(e -> assertThat(e).hasMessageContaining("the codec returned null"));
    }
  }

  /** The others hear of the first reason, whatever the text of it does. */
  // Proves: J25
  // On: inproc
  @Test
  void aReasonThatCancelsIsTold() {
    try (LciTestJob job = LciTestJob.start(2)) {
      TestSubscriber<Integer> one = TestSubscriber.create();
      RuntimeException wild =
          new RuntimeException("wild") {
            @Override
            public String toString() {
              one.cancel();
              return "a reason that cancels";
            }
          };
      TestSubscriber<Integer> other = TestSubscriber.create();
      shuffled(job.rank(1), none(), n -> 0, Codec.INT).subscribe(other);
      TestPublisher<Integer> source = TestPublisher.create();
      shuffled(job.rank(0), source, n -> 0, Codec.INT).subscribe(one);
      source.error(wild);
      assertThat(failure(other))
          .isInstanceOf(CollectiveFailedException.class)
          .hasMessageContaining("a reason that cancels");
    }
  }

  @Test
  void anItemIsAtMostHalfAWindow() {
    try (LciTestJob job = LciTestJob.start(2)) {
      StreamOptions options = StreamOptions.builder().windowBytes(2_000).build();
      for (int bytes : new int[] {1_001, 3 << 20}) {
        List<Throwable> failures =
            failures(
                job,
                lci ->
                    lci.world()
                        .streams()
                        .gather(0, Flux.just(new byte[bytes]), Codec.BYTES, options));
        assertThat(failures.get(1))
            .isInstanceOf(ResourceExhaustedException.class)
            .hasMessageContaining("half a window of ");
        assertThat(failures.get(0))
            .isInstanceOf(CollectiveFailedException.class)
            .hasMessageContaining("half a window of ");
      }
      Mono<Long> root =
          job.rank(0)
              .world()
              .streams()
              .gather(0, Flux.<byte[]>empty(), Codec.BYTES, options)
              .count()
              .cache();
      root.subscribe();
      job.rank(1)
          .world()
          .streams()
          .gather(0, Flux.range(0, 100).map(i -> new byte[1_000]), Codec.BYTES, options)
          .blockLast(LIMIT);
      assertThat(root.block(LIMIT)).isEqualTo(100);
    }
  }

  @Test
  void aSourceThatBringsTooMuchEndsIt() {
    try (LciTestJob job = LciTestJob.start(2)) {
      TestPublisher<Integer> wild =
          TestPublisher.createNoncompliant(TestPublisher.Violation.REQUEST_OVERFLOW);
      TestSubscriber<Integer> here = TestSubscriber.builder().initialRequest(1).build();
      shuffled(job.rank(0), wild, n -> 1, Codec.INT).subscribe(here);
      await().atMost(LIMIT).untilAsserted(wild::assertWasRequested);
      for (int i = 0; i <= GroupStreams.SEND_WINDOW; i++) {
        wild.next(i);
      }
      assertThat(failure(here)).hasMessageContaining("more than was requested");
      wild.assertCancelled();
    }
  }

  @Test
  void aSourceThatCannotBeSubscribedEndsIt() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Publisher<Integer> bad =
          subscriber -> {
            throw REASON;
          };
      assertFaultOf(
          1,
          failures(
              job, lci -> shuffled(lci, lci.rank() == 1 ? bad : Flux.never(), n -> 0, Codec.INT)),
          REASON);
    }
  }

  /** What waits to be sent, what came and what is a member's own: all are given back. */
  // Proves: J25
  // On: inproc
  @Test
  void whatIsNotDeliveredIsDiscarded() {
    AtomicInteger came = new AtomicInteger();
    Codec<Integer> counting =
        Codec.of(
            (n, out) -> out.putInt(n),
            in -> {
              came.incrementAndGet();
              return in.getInt(0);
            });
    try (LciTestJob job = LciTestJob.start(2)) {
      List<Integer> known = Collections.synchronizedList(new ArrayList<>());
      List<TestSubscriber<Integer>> all = new ArrayList<>();
      for (LciRuntime lci : job.ranks()) {
        TestSubscriber<Integer> one = TestSubscriber.builder().initialRequest(1).build();
        all.add(one);
        shuffled(
                lci,
                Flux.range(1_000 * lci.rank(), 200).concatWith(Flux.never()),
                n -> n % 2,
                counting)
            .doOnDiscard(Integer.class, known::add)
            .subscribe(one);
      }
      for (TestSubscriber<Integer> one : all) {
        await().atMost(LIMIT).until(() -> one.getReceivedOnNext().size() == 1);
      }
      // Both windows are full: nothing is under way, of which there would be bytes alone
      await().atMost(LIMIT).until(() -> came.get() == 2 * StreamOptions.DEFAULT_WINDOW_ITEMS);
      all.get(0).cancel();
      assertThat(failure(all.get(1))).isInstanceOf(OperationCancelledException.class);
      all.forEach(one -> known.addAll(one.getReceivedOnNext()));
      await().atMost(LIMIT).until(() -> known.size() >= 400);
      meet(job);
      assertThat(known).hasSize(400).doesNotHaveDuplicates();
    }
  }

  /** What the code that names the owner brings about finds the items that wait to be sent. */
  // Proves: J25
  // On: inproc
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void anOwnerThatCancelsLosesNothing(boolean last) {
    int count = 200;
    int at = last ? count - 1 : 5;
    try (LciTestJob job = LciTestJob.start(2)) {
      List<Integer> discarded = Collections.synchronizedList(new ArrayList<>());
      TestSubscriber<Integer> one = TestSubscriber.create();
      shuffled(
              job.rank(0),
              Flux.range(0, count).concatWith(Flux.never()),
              n -> {
                if (n == at) {
                  one.cancel();
                }
                return 1;
              },
              Codec.INT)
          .doOnDiscard(Integer.class, discarded::add)
          .subscribe(one);
      await().atMost(LIMIT).until(() -> discarded.size() >= count);
      assertThat(discarded).hasSize(count).doesNotHaveDuplicates();
    }
  }

  // Proves: J25
  // On: inproc
  @Test
  void aCodecThatCancelsLosesNothing() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<Integer> known = Collections.synchronizedList(new ArrayList<>());
      List<Integer> decoded = Collections.synchronizedList(new ArrayList<>());
      TestSubscriber<Integer> one = TestSubscriber.builder().initialRequest(1).build();
      Codec<Integer> cancels =
          Codec.of(
              (n, out) -> out.putInt(n),
              in -> {
                decoded.add(in.getInt(0));
                if (decoded.size() == 5) {
                  one.cancel();
                }
                return in.getInt(0);
              });
      shuffled(job.rank(0), none(), n -> 0, cancels)
          .doOnDiscard(Integer.class, known::add)
          .subscribe(one);
      TestSubscriber<Integer> other = TestSubscriber.create();
      shuffled(job.rank(1), Flux.range(0, 20).concatWith(Flux.never()), n -> 0, Codec.INT)
          .subscribe(other);
      await().atMost(LIMIT).until(other::isTerminatedError);
      meet(job);
      known.addAll(one.getReceivedOnNext());
      assertThat(known).containsExactlyInAnyOrderElementsOf(decoded);
    }
  }

  /** The last one that wanted it has left when it comes. */
  // Proves: J25
  // On: inproc
  @Test
  void whatNobodyWantsAnyMoreIsDiscarded() {
    StreamOptions small = StreamOptions.builder().windowBytes(1_024).build();
    try (LciTestJob job = LciTestJob.start(2)) {
      TestPublisher<byte[]> source = TestPublisher.create();
      AtomicInteger discarded = new AtomicInteger();
      TestSubscriber<byte[]> root = TestSubscriber.builder().initialRequest(1).build();
      job.rank(0)
          .world()
          .streams()
          .broadcast(0, source, Codec.BYTES, small)
          .doOnDiscard(
              byte[].class,
              item -> {
                if (discarded.incrementAndGet() == 1) {
                  source.next(new byte[500]);
                }
              })
          .subscribe(root);
      await().atMost(LIMIT).untilAsserted(source::assertWasSubscribed);
      root.cancel();
      TestSubscriber<byte[]> other = TestSubscriber.builder().initialRequest(1).build();
      job.rank(1).world().streams().broadcast(0, null, Codec.BYTES, small).subscribe(other);
      await().atMost(LIMIT).untilAsserted(source::assertWasRequested);
      for (int i = 0; i < 10; i++) {
        source.next(new byte[500]);
      }
      await().atMost(LIMIT).until(() -> other.getReceivedOnNext().size() == 1);
      other.cancel();
      await().atMost(LIMIT).untilAsserted(source::assertCancelled);
      // Two or three have left
      assertThat(discarded.get()).isBetween(8, 9);
    }
  }

  /** Its source goes on, and what comes for it does not hold up the others. */
  // Proves: J25
  // On: inproc
  @Test
  void aCancelMayLeaveTheOthersAlone() {
    StreamOptions discard =
        StreamOptions.builder().onCancel(StreamOptions.OnCancel.DISCARD).build();
    try (LciTestJob job = LciTestJob.start(3)) {
      int count = 3_000;
      AtomicInteger dropped = new AtomicInteger();
      List<TestSubscriber<Integer>> all = new ArrayList<>();
      for (LciRuntime lci : job.ranks()) {
        TestSubscriber<Integer> one =
            TestSubscriber.builder().initialRequest(lci.rank() == 1 ? 10 : Long.MAX_VALUE).build();
        all.add(one);
        lci.world()
            .streams()
            .shuffle(Flux.range(0, count), n -> n % 3, Codec.INT, discard)
            .doOnDiscard(Integer.class, n -> dropped.incrementAndGet())
            .subscribe(one);
      }
      await().atMost(LIMIT).until(() -> all.get(1).getReceivedOnNext().size() == 10);
      all.get(1).cancel();
      for (int rank : new int[] {0, 2}) {
        await().atMost(LIMIT).until(all.get(rank)::isTerminatedComplete);
        assertThat(all.get(rank).getReceivedOnNext()).hasSize(count);
      }
      assertThat(all.get(1).isTerminated()).isFalse();
      assertThat(dropped.get()).isPositive().isLessThanOrEqualTo(count - 10);
    }
  }

  // Proves: J25
  // On: inproc
  @Test
  void differentStreamsAreAMismatch() {
    List<IntFunction<Function<LciRuntime, Flux<?>>>> pairs =
        List.of(
            rank -> lci -> lci.world().streams().gather(rank == 2 ? 1 : 0, none(), Codec.INT),
            rank -> lci -> lci.world().streams().broadcast(rank == 2 ? 1 : 0, none(), Codec.INT),
            rank ->
                lci ->
                    rank == 2
                        ? shuffled(lci, none(), n -> 0, Codec.INT)
                        : lci.world().streams().gather(0, none(), Codec.INT));
    try (LciTestJob job = LciTestJob.start(3)) {
      for (IntFunction<Function<LciRuntime, Flux<?>>> pair : pairs) {
        List<Throwable> failures = failures(job, lci -> pair.apply(lci.rank()).apply(lci));
        assertThat(failures)
            .allSatisfy(
                e ->
                    assertThat(e)
                        .isInstanceOf(CollectiveMismatchException.class)
                        .hasMessageContaining("rank 2 called"));
      }
    }
  }

  /** What was said before a member begins, and of a stream that is over, is kept apart. */
  @Test
  void aMemberThatComesLateHearsOfTheEnd() {
    try (LciTestJob job = LciTestJob.start(3)) {
      for (int round = 0; round < 20; round++) {
        TestSubscriber<Integer> gone = TestSubscriber.create();
        job.rank(0).world().streams().shuffle(none(), n -> 0, Codec.INT).subscribe(gone);
        gone.cancel();
        for (int rank = 1; rank < 3; rank++) {
          StepVerifier.create(shuffled(job.rank(rank), Flux.just(1), n -> 0, Codec.INT))
              .expectError(OperationCancelledException.class)
              .verify(LIMIT);
        }
      }
      List<Mono<Long>> counts =
          job.ranks().stream()
              .map(lci -> shuffled(lci, Flux.range(0, 90), n -> n % 3, Codec.INT).count())
              .toList();
      assertThat(Flux.merge(counts).collectList().block(LIMIT)).containsExactly(90L, 90L, 90L);
    }
  }

  /** Others have not completed then. */
  // Proves: J25
  // On: chaos
  @ParameterizedTest(name = "seed {0}")
  @ValueSource(longs = {0, 1, 2, 3, 4, 5})
  void aMemberMayCloseWhenItHasCompleted(long seed) {
    System.out.println("chaos seed " + seed);
    LciOptions options =
        LciOptions.builder()
            .attribute("chaos", seed == 0 ? "" : "seed=" + seed + ",delay=0.3,ticks=64")
            .build();
    try (LciTestJob job = LciTestJob.start(3, options)) {
      List<Mono<Long>> counts = new ArrayList<>();
      for (LciRuntime lci : job.ranks()) {
        counts.add(
            shuffled(lci, Flux.range(0, 900), n -> n % 3, Codec.INT)
                .count()
                .doOnSuccess(count -> lci.dispose()));
      }
      assertThat(Flux.merge(counts).collectList().block(LIMIT)).containsExactly(900L, 900L, 900L);
    }
  }

  /** All that it had to send has left by then, whatever refused it before. */
  // On: chaos
  @ParameterizedTest(name = "seed {0}")
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void aMemberMayDieWhenItHasCompleted(long seed) {
    System.out.println("chaos seed " + seed);
    LciOptions options =
        LciOptions.builder().attribute("chaos", "seed=" + seed + ",refuse=0.5").build();
    try (LciTestJob job = LciTestJob.start(3, options)) {
      List<Mono<Long>> counts = new ArrayList<>();
      for (LciRuntime lci : job.ranks()) {
        counts.add(
            shuffled(lci, Flux.range(0, 900), n -> n % 3, Codec.INT)
                .count()
                .doOnSuccess(count -> lci.abort()));
      }
      assertThat(Flux.merge(counts).collectList().block(LIMIT)).containsExactly(900L, 900L, 900L);
    }
  }

  // Proves: J25
  // On: inproc
  @Test
  void aMemberThatLeavesBeforeThatEndsIt() {
    try (LciTestJob job = LciTestJob.start(3)) {
      List<TestSubscriber<Integer>> all =
          subscribed(job, lci -> shuffled(lci, none(), n -> 0, Codec.INT));
      meet(job);
      job.rank(1).close();
      assertThat(all.get(1).expectTerminalError()).isInstanceOf(LciClosedException.class);
      for (int rank : new int[] {0, 2}) {
        assertThat(failure(all.get(rank)))
            .isInstanceOfSatisfying(
                PeerLeftException.class, e -> assertThat(e.rank()).isEqualTo(1));
      }
      // And before it begins
      StepVerifier.create(shuffled(job.rank(0), none(), n -> 0, Codec.INT))
          .expectError(PeerLeftException.class)
          .verify(LIMIT);
    }
  }

  /** Groups without it go on. */
  @Test
  void aDeathEndsTheStreamsOfItsGroupsAlone() {
    try (LciTestJob job = LciTestJob.start(3)) {
      List<Mono<Long>> counts = new ArrayList<>();
      List<TestPublisher<Integer>> sources =
          List.of(TestPublisher.create(), TestPublisher.create());
      for (int rank = 0; rank < 2; rank++) {
        Mono<Long> count =
            job.rank(rank)
                .world()
                .subgroup(3, 0, 1)
                .streams()
                .shuffle(sources.get(rank), n -> n % 2, Codec.INT)
                .count()
                .cache();
        count.subscribe();
        counts.add(count);
      }
      TestSubscriber<Integer> ofAll = TestSubscriber.create();
      shuffled(job.rank(0), none(), n -> 0, Codec.INT).subscribe(ofAll);
      job.rank(2).abort();
      assertThat(failure(ofAll)).isInstanceOf(PeerFailedException.class);
      sources.forEach(source -> await().atMost(LIMIT).untilAsserted(source::assertWasRequested));
      sources.forEach(source -> source.emit(0, 1, 2, 3));
      assertThat(Flux.merge(counts).collectList().block(LIMIT)).containsExactly(4L, 4L);
    }
  }

  @Test
  void aDisposedContextLetsItsStreamsEnd() {
    try (LciTestJob job = LciTestJob.start(1)) {
      CollectiveContext context = job.rank(0).world().context(1);
      TestPublisher<Integer> source = TestPublisher.create();
      TestSubscriber<Integer> one = TestSubscriber.create();
      GroupStreams streams = context.streams();
      streams.shuffle(source, n -> 0, Codec.INT).subscribe(one);
      await().atMost(LIMIT).untilAsserted(source::assertWasRequested);
      context.dispose();
      StepVerifier.create(streams.shuffle(none(), n -> 0, Codec.INT))
          .expectError(LciClosedException.class)
          .verify(LIMIT);
      assertThatThrownBy(() -> job.rank(0).world().context(1))
          .isInstanceOf(IllegalStateException.class);
      source.emit(1, 2);
      await().atMost(LIMIT).until(one::isTerminatedComplete);
      assertThat(one.getReceivedOnNext()).containsExactly(1, 2);
      await()
          .atMost(LIMIT)
          .ignoreExceptions()
          .until(() -> job.rank(0).world().context(1) != context);
    }
  }

  @Test
  void aClosedRuntimeHasNoStreams() {
    LciTestJob job = LciTestJob.start(1);
    GroupStreams streams = job.rank(0).world().streams();
    Flux<Integer> before = streams.shuffle(Flux.just(1), n -> 0, Codec.INT);
    job.close();
    StepVerifier.create(before).expectError(LciClosedException.class).verify(LIMIT);
    assertThatThrownBy(() -> job.rank(0).world().streams()).isInstanceOf(LciClosedException.class);
  }

  @Test
  void aRequestOfNothingIsRefused() {
    try (LciTestJob job = LciTestJob.start(1)) {
      TestSubscriber<Integer> one = TestSubscriber.builder().initialRequest(1).build();
      shuffled(job.rank(0), none(), n -> 0, Codec.INT)
          .doOnSubscribe(s -> s.request(0))
          .subscribe(one);
      assertThat(failure(one)).isInstanceOf(IllegalArgumentException.class);
    }
  }
}
