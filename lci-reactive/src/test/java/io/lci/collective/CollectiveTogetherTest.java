/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.error.CollectiveMismatchException;
import io.lci.error.LciClosedException;
import io.lci.error.LciException;
import io.lci.error.PeerFailedException;
import io.lci.internal.lane.CollectiveKind;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.assertj.core.api.Condition;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

/** Calls that move data, beside each other, and as members fail, leave and differ. */
@ExtendWith(LciLeakCheck.class)
class CollectiveTogetherTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final ReduceOp SUM = ReduceOp.SUM;

  private static List<CollectiveContext> contexts(LciTestJob job, long key) {
    return job.ranks().stream().map(lci -> lci.world().context(key)).toList();
  }

  private static void all(
      List<? extends Collectives> members, Function<Collectives, Mono<?>> call) {
    Mono.when(members.stream().map(call).toList()).block(LIMIT);
  }

  private static LciOptions chaos(long seed) {
    String chaos = seed == 0 ? "" : "seed=" + seed + ",delay=0.3,ticks=64";
    return LciOptions.builder().attribute("chaos", chaos).build();
  }

  // Algorithms

  private static Stream<Arguments> algorithms() {
    return Stream.of(1, 2, 3, 4, 5)
        .flatMap(
            n ->
                Stream.of(CollectiveKind.values())
                    .flatMap(
                        kind -> kind.algorithms().stream().map(a -> Arguments.of(n, kind, a))));
  }

  /** The result of each is that of the core's choice; what it cannot serve is no call. */
  @ParameterizedTest
  @MethodSource("algorithms")
  void eachAlgorithmHasTheSameResult(int n, CollectiveKind kind, Algorithm algorithm) {
    boolean ofHosts = algorithm == Algorithm.HIERARCHICAL;
    LciOptions options = ofHosts ? OneHost.twoToAHost() : OneHost.options();
    try (LciTestJob job = LciTestJob.start(n, options)) {
      for (int length : new int[] {1, 5, 3_000}) {
        boolean serves = serves(algorithm, kind, n, length);
        List<long[]> chosen = new ArrayList<>();
        List<long[]> forced = new ArrayList<>();
        List<Mono<Void>> calls = new ArrayList<>();
        for (LciRuntime lci : job.ranks()) {
          Group world = lci.world();
          calls.add(call(kind, world, world, length, chosen));
          Mono<Void> other = call(kind, world, world.with(algorithm), length, forced);
          calls.add(serves ? other : refused(other));
        }
        Mono.when(calls).block(LIMIT);
        for (int i = 0; i < n && serves; i++) {
          assertThat(forced.get(i)).as("member " + i).isEqualTo(chosen.get(i));
        }
      }
    }
  }

  private static boolean serves(Algorithm algorithm, CollectiveKind kind, int n, int length) {
    boolean power = Integer.bitCount(n) == 1;
    return switch (algorithm) {
      case RECURSIVE_HALVING -> power;
      case RABENSEIFNER -> kind != CollectiveKind.ALL_REDUCE || power;
      case RECURSIVE_DOUBLING -> kind != CollectiveKind.ALL_GATHER || power;
      case NEIGHBOUR_EXCHANGE -> n % 2 == 0;
      case HIERARCHICAL -> n > 2;
      case ARENA_SLOTS -> length * Long.BYTES <= 1_024;
      default -> true;
    };
  }

  private static Mono<Void> refused(Mono<Void> call) {
    return call.then(Mono.<Void>error(new AssertionError("not refused")))
        .onErrorComplete(IllegalArgumentException.class);
  }

  /** A call of a kind over blocks of {@code length}, with its result among {@code results}. */
  private static Mono<Void> call(
      CollectiveKind kind, Group group, Collectives by, int length, List<long[]> results) {
    int n = group.size();
    int root = n - 1;
    int own = group.rank();
    long[] block = IntStream.range(0, length).mapToLong(i -> (own + 2L) * (i + 3)).toArray();
    long[] blocks = IntStream.range(0, n * length).mapToLong(i -> (own + 2L) * (i + 3)).toArray();
    boolean many =
        switch (kind) {
          case ALL_GATHER, GATHER, ALL_TO_ALL -> true;
          default -> false;
        };
    long[] result = new long[many ? n * length : length];
    results.add(result);
    Vec out = Vec.longs(result);
    return switch (kind) {
      case BARRIER -> by.barrier();
      case BROADCAST -> {
        System.arraycopy(block, 0, result, 0, length);
        yield by.broadcast(root, out);
      }
      case REDUCE -> by.reduce(root, Vec.longs(block), out, SUM);
      case ALL_REDUCE -> by.allReduce(Vec.longs(block), out, SUM);
      case REDUCE_SCATTER -> by.reduceScatter(Vec.longs(blocks), out, SUM);
      case ALL_GATHER -> by.allGather(Vec.longs(block), out);
      case GATHER -> by.gather(root, Vec.longs(block), out);
      case SCATTER -> by.scatter(root, Vec.longs(blocks), out);
      case ALL_TO_ALL -> by.allToAll(Vec.longs(blocks), out);
      case SCAN -> by.scan(Vec.longs(block), out, SUM);
      case EXCLUSIVE_SCAN -> by.exclusiveScan(Vec.longs(block), out, SUM);
      case NEIGHBOURS -> {
        int[] others = n == 1 ? new int[0] : new int[] {(own + 1) % n};
        int[] before = n == 1 ? new int[0] : new int[] {(own + n - 1) % n};
        Vec some = Vec.longs(block, 0, n == 1 ? 0 : length);
        yield by.neighbours(others, some, before, Vec.longs(result, 0, n == 1 ? 0 : length));
      }
      case AGREE -> throw new IllegalArgumentException("it has no algorithm");
    };
  }

  @Test
  void theLowestPairWins() {
    try (LciTestJob job = LciTestJob.start(3)) {
      double[] values = {2.5, 1.5, 1.5};
      all(
          job.ranks().stream().map(LciRuntime::world).toList(),
          c -> {
            int own = ((Group) c).rank();
            ByteBuffer pair = ByteBuffer.allocate(16).order(ByteOrder.LITTLE_ENDIAN);
            pair.putDouble(0, values[own]).putLong(8, own);
            Vec vec = Vec.of(DataType.F64_I64, pair, 0, 1);
            return c.allReduce(vec, vec, ReduceOp.MINLOC)
                .doOnSuccess(
                    done -> {
                      assertThat(pair.getDouble(0)).isEqualTo(1.5);
                      assertThat(pair.getLong(8)).isEqualTo(1);
                    });
          });
    }
  }

  // Many at once

  /** More than may be under way, of several contexts, with and without chaos. */
  @ParameterizedTest(name = "seed {0}")
  @ValueSource(longs = {0, 1, 2, 3})
  void manyCallsAreUnderWayAtOnce(long seed) {
    int count = 150;
    int n = 3;
    try (LciTestJob job = LciTestJob.start(n, chaos(seed))) {
      List<Mono<?>> all = new ArrayList<>();
      for (int key = 1; key <= 2; key++) {
        for (CollectiveContext context : contexts(job, key)) {
          all.add(Flux.range(0, count).flatMap(i -> one(context, i).thenReturn(i), count).then());
        }
      }
      Mono.when(all).block(LIMIT);
    }
  }

  /** Calls of different kinds and lengths, which check what they bring. */
  private static Mono<Void> one(CollectiveContext context, int i) {
    int n = context.group().size();
    int own = context.group().rank();
    int length = i % 5 == 4 ? 2_000 : 1 + i % 5;
    return switch (i % 7) {
      case 0 ->
          context
              .allReduce((long) own + i, SUM)
              .doOnNext(sum -> assertThat(sum).isEqualTo((long) n * i + n * (n - 1) / 2))
              .then();
      case 1 -> {
        long[] data = new long[length];
        Arrays.fill(data, own == i % n ? i : -1);
        yield context
            .broadcast(i % n, Vec.longs(data))
            .doOnSuccess(done -> assertThat(data).containsOnly(i));
      }
      case 2 -> {
        long[] mine = new long[length];
        Arrays.fill(mine, own * 1_000L + i);
        long[] joined = new long[n * length];
        yield context
            .allGather(Vec.longs(mine), Vec.longs(joined))
            .doOnSuccess(
                done -> {
                  for (int at = 0; at < joined.length; at++) {
                    assertThat(joined[at]).isEqualTo(at / length * 1_000L + i);
                  }
                });
      }
      case 3 -> {
        long[] mine = new long[n * length];
        Arrays.fill(mine, own * 1_000L + i);
        long[] blocks = new long[n * length];
        yield context
            .allToAll(Vec.longs(mine), Vec.longs(blocks))
            .doOnSuccess(
                done -> {
                  for (int at = 0; at < blocks.length; at++) {
                    assertThat(blocks[at]).isEqualTo(at / length * 1_000L + i);
                  }
                });
      }
      case 4 -> {
        long[] mine = new long[length];
        long[] all = new long[n * length];
        Arrays.fill(all, i);
        Vec given = own == i % n ? Vec.longs(all) : null;
        yield context
            .scatter(i % n, given, Vec.longs(mine))
            .doOnSuccess(done -> assertThat(mine).containsOnly(i));
      }
      case 5 -> {
        long[] mine = new long[length];
        Arrays.fill(mine, i);
        long[] all = new long[n * length];
        yield context
            .gather(i % n, Vec.longs(mine), Vec.longs(all))
            .doOnSuccess(done -> assertThat(all).containsOnly(own == i % n ? i : 0));
      }
      default -> {
        long[] mine = new long[length];
        Arrays.fill(mine, i);
        long[] sum = new long[length];
        yield context
            .scan(Vec.longs(mine), Vec.longs(sum), SUM)
            .doOnSuccess(done -> assertThat(sum).containsOnly((own + 1L) * i));
      }
    };
  }

  /** Also over a network, where long payloads have another way. */
  @ParameterizedTest
  @ValueSource(strings = {"shm", "tcp"})
  void longPayloadsComeOverEachTransport(String transport) {
    LciOptions options =
        LciOptions.builder()
            .attribute("transport", transport)
            .attribute("ranks_per_host", "0")
            .build();
    int length = 300_000;
    try (LciTestJob job = LciTestJob.start(3, options)) {
      for (int round = 0; round < 3; round++) {
        List<long[]> results =
            Flux.fromIterable(job.ranks())
                .flatMap(
                    lci -> {
                      long[] mine = new long[length];
                      Arrays.setAll(mine, i -> (lci.rank() + 1L) * i);
                      return lci.world().allReduce(mine, SUM);
                    })
                .collectList()
                .block(LIMIT);
        long[] expected = new long[length];
        Arrays.setAll(expected, i -> 6L * i);
        assertThat(results).hasSize(3).allSatisfy(r -> assertThat(r).isEqualTo(expected));
      }
    }
  }

  @Test
  void eachSubscriptionIsACall() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<List<Long>> sums =
          Flux.fromIterable(job.ranks())
              .flatMap(
                  lci -> {
                    Mono<Long> call = lci.world().allReduce(lci.rank() + 1L, SUM);
                    return call.repeat(2).collectList();
                  })
              .collectList()
              .block(LIMIT);
      assertThat(sums).containsOnly(List.of(3L, 3L, 3L));
    }
  }

  @Test
  void itEndsOnTheLoopOfItsDevice() {
    LciOptions options = LciOptions.builder().loops(2).build();
    try (LciTestJob job = LciTestJob.start(2, options)) {
      List<Boolean> there =
          Flux.fromIterable(job.ranks())
              .flatMap(
                  lci ->
                      lci.world()
                          .context(1, 1)
                          .allReduce(1L, SUM)
                          .map(sum -> sum == 2 && lci.loops().get(1).inLoop()))
              .collectList()
              .block(LIMIT);
      assertThat(there).containsExactly(true, true);
    }
  }

  // Those who leave a call, and those who differ

  @Test
  void afterACancelTheMemberTakesPartAndNothingIsWritten() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<CollectiveContext> contexts = contexts(job, 1);
      for (int length : new int[] {3, 50_000}) {
        long[] mine = new long[length];
        Arrays.fill(mine, 2);
        long[] out = new long[length];
        contexts.get(0).allReduce(Vec.longs(mine), Vec.longs(out), SUM).subscribe().dispose();
        StepVerifier.create(
                contexts
                    .get(0)
                    .allReduce(Vec.longs(mine), Vec.longs(out), SUM)
                    .timeout(Duration.ofMillis(20)))
            .expectError(TimeoutException.class)
            .verify(LIMIT);
        for (int i = 0; i < 2; i++) {
          assertThat(contexts.get(1).allReduce(mine, SUM).block(LIMIT)).containsOnly(4);
        }
        all(contexts, Collectives::barrier);
        assertThat(out).containsOnly(0);
      }
    }
  }

  private static void assertDiffer(
      LciTestJob job, long key, List<Function<Collectives, Mono<?>>> calls, String... words) {
    List<CollectiveContext> contexts = contexts(job, key);
    List<Throwable> errors =
        Flux.range(0, contexts.size())
            .flatMap(
                i ->
                    calls
                        .get(i)
                        .apply(contexts.get(i))
                        .map(value -> new Throwable("a value"))
                        .switchIfEmpty(Mono.just(new Throwable("no error")))
                        .onErrorResume(Mono::just)
                        .map(e -> (Throwable) e))
            .collectList()
            .block(LIMIT);
    assertThat(errors)
        .hasSize(contexts.size())
        .allSatisfy(
            e ->
                assertThat(e)
                    .isInstanceOf(CollectiveMismatchException.class)
                    .hasMessageContainingAll(words));
    contexts.forEach(
        context ->
            StepVerifier.create(context.barrier())
                .expectError(CollectiveMismatchException.class)
                .verify(LIMIT));
  }

  // Proves: J14
  // On: inproc
  @Test
  void membersThatCallSomethingElseAreToldBoth() {
    try (LciTestJob job = LciTestJob.start(2)) {
      assertDiffer(
          job,
          1,
          List.of(Collectives::barrier, c -> c.allReduce(1L, SUM)),
          "called barrier",
          "called allReduce");
      assertDiffer(
          job,
          2,
          List.of(c -> c.allReduce(1L, SUM), c -> c.allReduce(1L, ReduceOp.MAX)),
          "rank 0 called allReduce",
          "rank 1 called allReduce",
          " by SUM",
          " by MAX");
      assertDiffer(
          job,
          3,
          List.of(c -> c.allReduce(new long[2], SUM), c -> c.allReduce(new long[3], SUM)),
          "allReduce of 2 I64",
          "allReduce of 3 I64");
      assertDiffer(
          job,
          4,
          List.of(c -> c.allReduce(1L, SUM), c -> c.allReduce(1.0, SUM)),
          "allReduce of 1 I64",
          "allReduce of 1 F64");
    }
  }

  /** What the texts of both have alike would not tell why. */
  // Proves: J14
  // On: inproc
  @Test
  void membersThatDifferInCountsAreTold() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Vec mine = Vec.longs(new long[1]);
      Vec all = Vec.longs(new long[4]);
      assertDiffer(
          job,
          1,
          List.of(
              c -> c.allGather(mine, all, new long[] {1, 3}),
              c -> c.allGather(Vec.longs(new long[2]), all, new long[] {2, 2})),
          " by a list of counts",
          " by another list of counts");
      assertDiffer(
          job,
          2,
          List.of(c -> c.allGather(mine, all, new long[] {1, 3}), Collectives::barrier),
          " by a list of counts",
          "called barrier");
      int[] other = {0};
      assertDiffer(
          job,
          3,
          List.of(
              c -> c.neighbours(new int[] {1}, mine, new int[] {1}, Vec.longs(new long[1])),
              c -> c.neighbours(other, Vec.longs(new long[3]), other, Vec.longs(new long[3]))),
          "called neighbours of 1 I64",
          "called neighbours of 3 I64");
      long[] one = {1, 0};
      assertDiffer(
          job,
          4,
          List.of(
              c -> c.allToAll(mine, new long[] {0, 1}, Vec.longs(new long[1]), new long[] {0, 1}),
              c -> c.allToAll(mine, one, Vec.longs(new long[3]), new long[] {3, 0})),
          "called allToAll of 1 I64",
          "called allToAll of 3 I64");
    }
  }

  /** A root that needs nothing of the others may have completed its call. */
  // Proves: J14
  // On: inproc
  @Test
  void aMemberThatNamesAnotherRootIsTold() {
    try (LciTestJob job = LciTestJob.start(3)) {
      List<CollectiveContext> contexts = contexts(job, 1);
      Vec data = Vec.longs(new long[1]);
      contexts.get(0).broadcast(0, data).subscribe(v -> {}, e -> {});
      StepVerifier.create(contexts.get(2).broadcast(1, data))
          .expectErrorSatisfies(
              e ->
                  assertThat(e)
                      .isInstanceOf(CollectiveMismatchException.class)
                      .hasMessageContainingAll(
                          "rank 0 called broadcast of 1 I64 with root 0",
                          "rank 2 called broadcast of 1 I64 with root 1"))
          .verify(LIMIT);
    }
  }

  /** Each waits for the other, and neither sends: the question why it stands still tells. */
  // Proves: J14 J17
  // On: inproc
  @Test
  void membersThatWaitForEachOtherAreTold() {
    LciOptions options = LciOptions.builder().attribute("coll_stall_ms", "50").build();
    try (LciTestJob job = LciTestJob.start(2, options)) {
      Vec data = Vec.longs(new long[1]);
      Vec other = Vec.longs(new long[1]);
      assertDiffer(
          job,
          1,
          List.of(c -> c.broadcast(1, data), c -> c.broadcast(0, other)),
          "with root 0",
          "with root 1");
    }
  }

  // Proves: J15
  // On: inproc
  @Test
  void aDeathEndsACallThatMovesData() {
    for (int length : new int[] {3, 50_000}) {
      try (LciTestJob job = LciTestJob.start(3)) {
        long[] out = new long[length];
        List<Mono<Void>> waiting =
            Stream.of(0, 1)
                .map(
                    i ->
                        job.rank(i)
                            .world()
                            .allReduce(Vec.longs(new long[length]), Vec.longs(out), SUM)
                            .cache())
                .toList();
        waiting.forEach(call -> call.subscribe(v -> {}, e -> {}));
        job.rank(2).abort();
        for (Mono<Void> call : waiting) {
          StepVerifier.create(call)
              .expectErrorSatisfies(
                  e -> {
                    assertThat(e).isInstanceOf(PeerFailedException.class);
                    assertThat(((LciException) e).rank()).isEqualTo(2);
                    assertThat(e).hasMessageContaining("allReduce of a group");
                  })
              .verify(LIMIT);
        }
        assertThat(out).containsOnly(0);
      }
    }
  }

  /** Wherever the others are then; short and long calls are under way beside each other. */
  // Proves: J15
  // On: inproc, chaos
  @ParameterizedTest(name = "after {0}")
  @ValueSource(ints = {0, 1, 7, 23})
  void aDeathMidwayEndsWhatIsUnderWay(int calls) {
    try (LciTestJob job = LciTestJob.start(3, chaos(calls))) {
      List<CollectiveContext> contexts = contexts(job, 1);
      AtomicInteger ended = new AtomicInteger();
      List<Mono<Object>> members = new ArrayList<>();
      for (CollectiveContext context : contexts) {
        int count = context.group().rank() == 2 ? 60 : 61; // one that it never makes
        AtomicReference<Object> end = new AtomicReference<>("all");
        members.add(
            Flux.range(0, count)
                .flatMap(i -> sum(context, i % 2 == 0 ? 3 : 20_000, end), count)
                .doOnNext(
                    sum -> {
                      if (ended.getAndIncrement() == calls) {
                        job.rank(2).abort();
                      }
                    })
                .then(Mono.fromSupplier(end::get)));
      }
      List<Object> ends = Flux.merge(members).collectList().block(LIMIT);
      assertThat(ends).hasSize(3).haveAtLeast(2, failedBecauseOf(2));
    }
  }

  /** Completes empty if the call fails, and notes why: those beside it go on. */
  private static Mono<long[]> sum(
      CollectiveContext context, int count, AtomicReference<Object> end) {
    return context
        .allReduce(new long[count], SUM)
        .onErrorResume(
            error -> {
              end.compareAndSet("all", error);
              return Mono.empty();
            });
  }

  private static Condition<Object> failedBecauseOf(int rank) {
    return new Condition<>(
        e -> e instanceof PeerFailedException gone && gone.rank() == rank, "failed by %d", rank);
  }

  @Test
  void aGracefulCloseWaitsForACall() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Mono<Long> call = job.rank(0).world().allReduce(1L, SUM).cache();
      call.subscribe();
      Mono<Void> closing = job.rank(0).disposeGracefully(LIMIT).cache();
      closing.subscribe();
      assertThat(job.rank(1).world().allReduce(2L, SUM).block(LIMIT)).isEqualTo(3);
      assertThat(call.block(LIMIT)).isEqualTo(3);
      closing.block(LIMIT);
    }
  }

  /** A call whose others never come: its memory goes with the runtime, and nothing hangs. */
  @Test
  void aCloseEndsACallThatOthersNeverMake() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Vec data = Vec.longs(job.rank(0).memory().buffer(400_000));
      Mono<Void> call = job.rank(0).world().allReduce(data, data, SUM).cache();
      call.subscribe(v -> {}, e -> {});
      job.rank(0).abort();
      StepVerifier.create(call).expectError(LciClosedException.class).verify(LIMIT);
    }
  }

  @Test
  void aWrongAlgorithmTakesNoNumber() {
    try (LciTestJob job = LciTestJob.start(3)) {
      List<CollectiveContext> contexts = contexts(job, 1);
      for (CollectiveContext context : contexts) {
        Collectives halving = context.with(Algorithm.RECURSIVE_HALVING);
        assertThatIllegalArgumentException()
            .isThrownBy(
                () ->
                    halving
                        .reduceScatter(Vec.longs(new long[3]), Vec.longs(new long[1]), SUM)
                        .block(LIMIT))
            .withMessageContaining("RECURSIVE_HALVING does not serve this reduceScatter");
      }
      all(contexts, c -> c.allReduce(1L, SUM));
    }
  }
}
