/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.awaitility.Awaitility.await;

import io.lci.Codec;
import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.error.CollectiveFailedException;
import io.lci.error.LciClosedException;
import io.lci.error.PeerFailedException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BinaryOperator;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;
import reactor.test.subscriber.TestSubscriber;

/** Calls with values of a codec, of any length. */
@ExtendWith(LciLeakCheck.class)
class CollectiveValuesTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final BinaryOperator<String> JOINED = (a, b) -> a + "," + b;

  private static List<World> worlds(LciTestJob job) {
    return job.ranks().stream().map(LciRuntime::world).toList();
  }

  private static <T> List<T> all(LciTestJob job, Function<World, Mono<T>> call) {
    return Flux.mergeSequential(worlds(job).stream().map(call).toList(), 64, 64)
        .collectList()
        .block(LIMIT);
  }

  private static <T> Mono<T> begun(Mono<T> call) {
    Mono<T> cached = call.cache();
    cached.subscribe(value -> {}, error -> {});
    return cached;
  }

  /** Some short, some as long as a head, some longer, some empty. */
  private static String value(int member, int round) {
    int[] lengths = {3, 152, 0, 153, 20_000, 1};
    return ("" + (char) ('a' + member)).repeat(lengths[(member + round) % lengths.length]);
  }

  // Proves: J20
  // On: inproc
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 5})
  void allGetTheValueOfTheRoot(int size) {
    try (LciTestJob job = LciTestJob.start(size)) {
      for (int round = 0; round < 6; round++) {
        int root = round % size;
        String value = value(root, round);
        assertThat(all(job, w -> w.broadcast(root, w.rank() == root ? value : null, Codec.UTF8)))
            .hasSize(size)
            .containsOnly(value);
      }
    }
  }

  // Proves: J20
  // On: inproc
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 5})
  void allGetTheValuesOfAll(int size) {
    try (LciTestJob job = LciTestJob.start(size)) {
      for (int round = 0; round < 6; round++) {
        int number = round;
        List<String> expected = IntStream.range(0, size).mapToObj(m -> value(m, number)).toList();
        assertThat(all(job, w -> w.allGather(value(w.rank(), number), Codec.UTF8)))
            .hasSize(size)
            .containsOnly(expected);
      }
    }
  }

  // Proves: J20
  // On: inproc
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 5})
  void valuesAreCombinedInTheOrderOfMembers(int size) {
    try (LciTestJob job = LciTestJob.start(size)) {
      for (int round = 0; round < 6; round++) {
        int number = round;
        String expected =
            IntStream.range(0, size).mapToObj(m -> value(m, number)).reduce(JOINED).orElseThrow();
        assertThat(all(job, w -> w.allReduce(value(w.rank(), number), Codec.UTF8, JOINED)))
            .hasSize(size)
            .containsOnly(expected);
      }
    }
  }

  /** All get what the codec makes of the result, member 0 as well. */
  @Test
  void aCodecThatLosesSomethingLosesItEverywhere() {
    Codec<Double> rounding =
        Codec.of((value, out) -> out.putInt((int) (double) value), in -> (double) in.getInt(0));
    try (LciTestJob job = LciTestJob.start(3)) {
      List<Double> results = all(job, w -> w.allReduce(0.75 + w.rank(), rounding, (a, b) -> a + b));
      assertThat(results).containsOnly(3.0); // 0.75 + 1 + 2, rounded
    }
  }

  @Test
  void theCodecIsToldWhoseValueItReads() {
    Codec<Integer> sender = Codec.of((value, out) -> out.putByte(1), in -> in.rank());
    try (LciTestJob job = LciTestJob.start(4)) {
      List<Mono<List<Integer>>> calls = new ArrayList<>();
      int[] members = {3, 1, 2};
      for (int rank : members) {
        Group group = job.rank(rank).world().subgroup(1, members);
        calls.add(group.allGather(rank, sender));
      }
      assertThat(Flux.mergeSequential(calls).collectList().block(LIMIT))
          .containsOnly(List.of(3, 1, 2));
    }
  }

  /** Mixed with others, many at once: each call has its number, whatever its parts. */
  // Proves: J20
  // On: inproc, chaos
  @ParameterizedTest(name = "seed {0}")
  @ValueSource(longs = {0, 1, 2, 3})
  void callsOfAllKindsAreUnderWayAtOnce(long seed) {
    LciOptions options =
        LciOptions.builder()
            .attribute("chaos", seed == 0 ? "" : "seed=" + seed + ",delay=0.3,ticks=64")
            .build();
    int count = 120;
    try (LciTestJob job = LciTestJob.start(3, options)) {
      List<List<Object>> ends =
          all(
              job,
              w ->
                  Flux.range(0, count)
                      .flatMapSequential(i -> CollectiveValuesTest.<Object>one(w, i), count)
                      .collectList());
      List<Object> expected = IntStream.range(0, count).mapToObj(i -> expected(i, 3)).toList();
      assertThat(ends).hasSize(3).containsOnly(expected);
    }
  }

  private static Mono<Object> one(Group group, int i) {
    int own = group.rank();
    return switch (i % 5) {
      case 0 -> group.barrier().thenReturn("barrier");
      case 1 -> group.allReduce((long) own + i, ReduceOp.SUM).cast(Object.class);
      case 2 -> group.broadcast(i % 3, value(i % 3, i), Codec.UTF8).cast(Object.class);
      case 3 -> group.allGather(value(own, i), Codec.UTF8).cast(Object.class);
      default -> group.allReduce(value(own, i), Codec.UTF8, JOINED).cast(Object.class);
    };
  }

  private static Object expected(int i, int size) {
    List<String> values = IntStream.range(0, size).mapToObj(m -> value(m, i)).toList();
    return switch (i % 5) {
      case 0 -> "barrier";
      case 1 -> 3L * i + 3;
      case 2 -> value(i % 3, i);
      case 3 -> values;
      default -> String.join(",", values);
    };
  }

  @Test
  void callsEndOnTheLoopOfTheirContext() {
    try (LciTestJob job = LciTestJob.start(2, LciOptions.builder().loops(2).build())) {
      List<Boolean> where = new CopyOnWriteArrayList<>();
      Codec<String> looking =
          Codec.of(
              (text, out) -> {
                where.add(Thread.currentThread().getName().contains("lci-loop-1"));
                out.putUtf8(text);
              },
              in -> {
                where.add(Thread.currentThread().getName().contains("lci-loop-1"));
                return in.utf8();
              });
      all(
          job,
          w ->
              w.context(1, 1)
                  .allReduce("x".repeat(300), looking, JOINED)
                  .doOnNext(
                      text -> where.add(Thread.currentThread().getName().contains("lci-loop-1"))));
      assertThat(where).hasSizeGreaterThan(5).containsOnly(true);
    }
  }

  // Demand and cancel

  @Test
  void withoutARequestNothingBegins() {
    try (LciTestJob job = LciTestJob.start(2)) {
      TestSubscriber<List<String>> idle = TestSubscriber.builder().initialRequest(0).build();
      job.rank(0).world().allGather("idle", Codec.UTF8).subscribe(idle);
      assertThat(all(job, w -> w.allGather("" + w.rank(), Codec.UTF8)))
          .containsOnly(List.of("0", "1"));
      idle.cancel();
    }
  }

  @Test
  void aSubscriberThatLeavesTakesPart() {
    try (LciTestJob job = LciTestJob.start(2)) {
      World first = job.rank(0).world();
      for (int i = 0; i < 20; i++) {
        first.allReduce(value(0, i), Codec.UTF8, JOINED).subscribe().dispose();
      }
      Mono<Void> barrier = begun(first.barrier());
      Flux<String> others =
          Flux.range(0, 20)
              .concatMap(i -> job.rank(1).world().allReduce(value(1, i), Codec.UTF8, JOINED));
      List<String> expected =
          IntStream.range(0, 20).mapToObj(i -> value(0, i) + "," + value(1, i)).toList();
      assertThat(others.collectList().block(LIMIT)).isEqualTo(expected);
      barrier.and(job.rank(1).world().barrier()).block(LIMIT);
    }
  }

  /** Calls that wait for their turn when their context is disposed of were made before. */
  @ParameterizedTest
  @ValueSource(ints = {1, 100})
  void aDisposedContextLetsCallsThatWaitEnd(int length) {
    try (LciTestJob job = LciTestJob.start(2)) {
      CollectiveContext context = job.rank(0).world().context(1);
      Mono<String> value = begun(context.broadcast(1, null, Codec.UTF8));
      Mono<List<String>> waiting = begun(context.allGather("first", Codec.UTF8));
      Mono<Void> last = begun(context.barrier());
      context.dispose();
      StepVerifier.create(context.barrier()).expectError(LciClosedException.class).verify(LIMIT);
      CollectiveContext other = job.rank(1).world().context(1);
      String text = "long".repeat(length);
      Mono<List<String>> others =
          other
              .broadcast(1, text, Codec.UTF8)
              .then(other.allGather("second", Codec.UTF8))
              .flatMap(all -> other.barrier().thenReturn(all));
      assertThat(others.block(LIMIT)).containsExactly("first", "second");
      assertThat(value.block(LIMIT)).isEqualTo(text);
      assertThat(waiting.block(LIMIT)).containsExactly("first", "second");
      last.block(LIMIT);
      await()
          .atMost(LIMIT)
          .ignoreExceptions()
          .until(() -> job.rank(0).world().context(1) != context);
    }
  }

  @Test
  void aGracefulCloseWaitsForCallsThatWait() {
    try (LciTestJob job = LciTestJob.start(2)) {
      World first = job.rank(0).world();
      Mono<String> value = begun(first.broadcast(1, null, Codec.UTF8));
      Mono<List<String>> waiting = begun(first.allGather("first", Codec.UTF8));
      Mono<Void> closing = begun(job.rank(0).disposeGracefully(LIMIT));
      World second = job.rank(1).world();
      String text = "long".repeat(100);
      second
          .broadcast(1, text, Codec.UTF8)
          .then(second.allGather("second", Codec.UTF8))
          .block(LIMIT);
      assertThat(value.block(LIMIT)).isEqualTo(text);
      assertThat(waiting.block(LIMIT)).containsExactly("first", "second");
      closing.block(LIMIT);
    }
  }

  @Test
  void aCloseEndsWhatWaits() {
    try (LciTestJob job = LciTestJob.start(2)) {
      World first = job.rank(0).world();
      List<Mono<?>> calls =
          List.of(
              begun(first.broadcast(1, null, Codec.UTF8)),
              begun(first.barrier()),
              begun(first.allGather("first", Codec.UTF8)));
      job.rank(0).abort();
      for (Mono<?> call : calls) {
        StepVerifier.create(call).expectError(LciClosedException.class).verify(LIMIT);
      }
    }
  }

  // Arguments

  @Test
  void whatIsMissingIsRefusedAtOnce() {
    try (LciTestJob job = LciTestJob.start(2)) {
      World world = job.rank(0).world();
      assertThatNullPointerException()
          .isThrownBy(() -> world.broadcast(0, null, Codec.UTF8))
          .withMessage("value");
      assertThatNullPointerException()
          .isThrownBy(() -> world.allGather((String) null, Codec.UTF8))
          .withMessage("value");
      assertThatNullPointerException()
          .isThrownBy(() -> world.allReduce("", Codec.UTF8, null))
          .withMessage("op");
      assertThatNullPointerException()
          .isThrownBy(() -> world.allGather("", (Codec<String>) null))
          .withMessage("codec");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> world.broadcast(2, "", Codec.UTF8))
          .withMessageContaining("members are 0 to 1");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> world.with(Algorithm.RING).allGather("", Codec.UTF8))
          .withMessageContaining("RING");
    }
  }

  // Errors

  private static Codec<String> throwing(int atRank, boolean reading, int own, int length) {
    RuntimeException boom = new IllegalStateException("boom " + "x".repeat(length));
    return Codec.of(
        (text, out) -> {
          if (own == atRank && !reading) {
            throw boom;
          }
          out.putUtf8(text);
        },
        in -> {
          if (own == atRank && reading) {
            throw boom;
          }
          return in.utf8();
        });
  }

  private static void expectFailed(Mono<?> call, int rank, boolean own, String text) {
    StepVerifier.create(call)
        .expectErrorSatisfies(
            e -> {
              assertThat(e).isInstanceOf(CollectiveFailedException.class);
              assertThat(((CollectiveFailedException) e).rank()).isEqualTo(rank);
              assertThat(e).hasMessageContaining("it gave the context up: ");
              assertThat(e).hasMessageContaining(text);
              if (own) {
                assertThat(e).hasCauseInstanceOf(RuntimeException.class);
              }
            })
        .verify(LIMIT);
  }

  /** With its text at all members, short or long, and so do later calls; agreements go on. */
  // Proves: J20
  // On: inproc
  @ParameterizedTest
  @ValueSource(ints = {0, 500, 5_000})
  void aCodecThatThrowsWhileItWritesEndsTheCallOnAll(int length) {
    String text = "IllegalStateException: boom " + "x".repeat(Math.min(length, 500));
    try (LciTestJob job = LciTestJob.start(3)) {
      for (int key = 1; key <= 3; key++) {
        int kind = key;
        List<Mono<?>> calls = new ArrayList<>();
        List<Mono<?>> later = new ArrayList<>();
        for (World world : worlds(job)) {
          int own = world.rank();
          CollectiveContext context = world.context(key);
          Codec<String> codec = throwing(1, false, own, length);
          Mono<?> call =
              switch (kind) {
                case 1 -> context.broadcast(1, own == 1 ? "1" : null, codec);
                case 2 -> context.allGather("" + own, codec);
                default -> context.allReduce("" + own, codec, JOINED);
              };
          calls.add(begun(call));
          later.add(begun(context.barrier()));
        }
        for (int rank = 0; rank < 3; rank++) {
          expectFailed(calls.get(rank), 1, rank == 1, text);
          expectFailed(later.get(rank), 1, false, text);
          expectFailed(worlds(job).get(rank).context(key).barrier(), 1, false, text);
        }
      }
      assertThat(all(job, w -> w.agree(true))).containsOnly(true);
      Mono.when(worlds(job).stream().map(World::barrier).toList()).block(LIMIT);
    }
  }

  // Proves: J20
  // On: inproc
  @Test
  void anOperatorThatThrowsEndsTheCallOnAll() {
    try (LciTestJob job = LciTestJob.start(3)) {
      List<Mono<String>> calls = new ArrayList<>();
      for (World world : worlds(job)) {
        BinaryOperator<String> op =
            (a, b) -> {
              throw new IllegalStateException("cannot add " + b);
            };
        calls.add(begun(world.allReduce("" + world.rank(), Codec.UTF8, op)));
      }
      for (int rank = 0; rank < 3; rank++) {
        expectFailed(calls.get(rank), 0, rank == 0, "cannot add 1");
      }
    }
  }

  @Test
  void anOperatorThatGivesNothingEndsTheCallOnAll() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<Mono<String>> calls =
          worlds(job).stream()
              .map(w -> begun(w.allReduce("" + w.rank(), Codec.UTF8, (a, b) -> null)))
              .toList();
      for (int rank = 0; rank < 2; rank++) {
        expectFailed(calls.get(rank), 0, rank == 0, "NullPointerException: result of the operator");
      }
    }
  }

  /** The others have completed it, or hear of it; their next call fails. */
  @Test
  void aValueThatCannotBeReadGivesTheContextUp() {
    try (LciTestJob job = LciTestJob.start(3)) {
      List<Mono<List<String>>> calls = new ArrayList<>();
      for (World world : worlds(job)) {
        calls.add(begun(world.allGather("" + world.rank(), throwing(2, true, world.rank(), 0))));
      }
      expectFailed(calls.get(2), 2, true, "IllegalStateException: boom");
      expectFailed(worlds(job).get(2).barrier(), 2, false, "IllegalStateException: boom");
      for (int rank = 0; rank < 2; rank++) {
        expectFailed(worlds(job).get(rank).barrier(), 2, false, "its codec or operator threw");
      }
    }
  }

  @Test
  void aDeathEndsACallOfSeveralParts() {
    try (LciTestJob job = LciTestJob.start(3)) {
      List<Mono<?>> calls = new ArrayList<>();
      for (int rank = 0; rank < 2; rank++) {
        World world = job.rank(rank).world();
        calls.add(begun(world.allReduce(value(rank, 1), Codec.UTF8, JOINED)));
        calls.add(begun(world.barrier()));
      }
      job.rank(2).abort();
      for (Mono<?> call : calls) {
        StepVerifier.create(call)
            .expectErrorSatisfies(
                e -> {
                  assertThat(e).isInstanceOf(PeerFailedException.class);
                  assertThat(((PeerFailedException) e).rank()).isEqualTo(2);
                })
            .verify(LIMIT);
      }
    }
  }
}
