/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.error.CollectiveFailedException;
import io.lci.error.LciClosedException;
import io.lci.error.PeerFailedException;
import io.lci.rma.LciBuffer;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;
import reactor.test.publisher.TestPublisher;
import reactor.test.subscriber.TestSubscriber;

/** Calls that are prepared once and made often. */
@ExtendWith(LciLeakCheck.class)
class CollectivePlanTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  /** An allreduce of a member over arrays, of which the test sets and reads the elements. */
  private static final class Summing {
    final List<long[]> ins = new ArrayList<>();
    final List<long[]> outs = new ArrayList<>();
    final CollectivePlan.Builder builder;

    Summing(Collectives of, int depth, int length) {
      for (int set = 0; set < depth; set++) {
        ins.add(new long[length]);
        outs.add(new long[length]);
      }
      List<Vec> from = ins.stream().map(Vec::longs).toList();
      builder = of.plan().allReduce(from, outs.stream().map(Vec::longs).toList(), ReduceOp.SUM);
    }
  }

  private static List<World> worlds(LciTestJob job) {
    return job.ranks().stream().map(LciRuntime::world).toList();
  }

  private static <T> Mono<T> begun(Mono<T> call) {
    Mono<T> cached = call.cache();
    cached.subscribe(value -> {}, error -> {});
    return cached;
  }

  private static void all(List<? extends Mono<?>> calls) {
    Mono.when(calls).block(LIMIT);
  }

  // Proves: J22
  // On: inproc, chaos
  @ParameterizedTest
  @CsvSource({
    "1, 1, 0, ''",
    "2, 2, 0, ''",
    "3, 1, 24, ''",
    "3, 3, 800, 'seed=3,delay=0.3,ticks=64'"
  })
  void eachRunIsACall(int n, int depth, long segmentBytes, String chaos) {
    LciOptions options = LciOptions.builder().attribute("chaos", chaos).build();
    int length = 1_000;
    int count = 25;
    try (LciTestJob job = LciTestJob.start(n, options)) {
      List<Mono<Void>> members = new ArrayList<>();
      for (World world : worlds(job)) {
        Summing of = new Summing(world, depth, length);
        if (segmentBytes > 0) {
          of.builder.segmentBytes(segmentBytes);
        }
        CollectivePlan plan = of.builder.depth(depth).build();
        members.add(
            Flux.range(0, count)
                .concatMap(
                    run -> {
                      int set = run % depth;
                      long[] in = of.ins.get(set);
                      for (int i = 0; i < length; i++) {
                        in[i] = (world.rank() + 1L) * (run + i);
                      }
                      return plan.run()
                          .then(
                              Mono.fromRunnable(
                                  () ->
                                      assertThat(of.outs.get(set))
                                          .isEqualTo(sums(n, run, length))));
                    })
                .then());
      }
      all(members);
    }
  }

  private static long[] sums(int n, int run, int length) {
    return LongStream.range(0, length).map(i -> n * (n + 1L) / 2 * (run + i)).toArray();
  }

  /** Runs, calls of several parts and others keep one order. */
  @ParameterizedTest(name = "seed {0}")
  @ValueSource(longs = {0, 1, 2})
  void runsAndOtherCallsAreUnderWayAtOnce(long seed) {
    LciOptions options =
        LciOptions.builder()
            .attribute("chaos", seed == 0 ? "" : "seed=" + seed + ",delay=0.3,ticks=64")
            .build();
    int count = 60;
    try (LciTestJob job = LciTestJob.start(3, options)) {
      List<Mono<List<Long>>> members = new ArrayList<>();
      for (World world : worlds(job)) {
        Summing of = new Summing(world, 2, 100);
        CollectivePlan plan = of.builder.segmentBytes(200).build();
        members.add(
            begun(
                Flux.range(0, count)
                    .flatMapSequential(
                        i ->
                            i % 2 == 0
                                ? plan.run().thenReturn(0L)
                                : world.allReduce((long) i, ReduceOp.MAX),
                        count)
                    .collectList()));
      }
      List<Long> expected =
          IntStream.range(0, count).mapToObj(i -> i % 2 == 0 ? 0L : (long) i).toList();
      for (Mono<List<Long>> member : members) {
        assertThat(member.block(LIMIT)).isEqualTo(expected);
      }
    }
  }

  @Test
  void eachKindOfCallMayBePrepared() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<Mono<Void>> members = new ArrayList<>();
      for (World world : worlds(job)) {
        int own = world.rank();
        long[] data = own == 1 ? new long[] {5, 6} : new long[2];
        long[] in = {own + 1, 10};
        long[] sum = new long[2];
        long[] part = new long[1];
        long[] gathered = new long[4];
        long[] exchanged = new long[2];
        CollectivePlan.Calls plan = world.plan();
        List<Vec> ins = List.of(Vec.longs(in));
        List<Vec> sums = own == 0 ? List.of(Vec.longs(sum)) : null;
        members.add(
            Flux.just(
                    plan.broadcast(1, List.of(Vec.longs(data))).build(),
                    world.plan().reduce(0, ins, sums, ReduceOp.SUM).build(),
                    world.plan().reduceScatter(ins, List.of(Vec.longs(part)), ReduceOp.MAX).build(),
                    world.plan().allGather(ins, List.of(Vec.longs(gathered))).build(),
                    world.plan().allToAll(ins, List.of(Vec.longs(exchanged))).build())
                .concatMap(CollectivePlan::run)
                .then(
                    Mono.fromRunnable(
                        () -> {
                          assertThat(data).containsExactly(5, 6);
                          assertThat(sum)
                              .containsExactly(own == 0 ? new long[] {3, 20} : new long[2]);
                          assertThat(part).containsExactly(own == 0 ? 2 : 10);
                          assertThat(gathered).containsExactly(1, 10, 2, 10);
                          assertThat(exchanged)
                              .containsExactly(own == 0 ? new long[] {1, 2} : new long[] {10, 10});
                        })));
      }
      all(members);
    }
  }

  // Runs by ticks

  /** The result of each is there until the next number but depth is requested. */
  // Proves: J22
  // On: inproc
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3})
  void aRunBeginsForEachTick(int depth) {
    int count = 40;
    try (LciTestJob job = LciTestJob.start(2)) {
      List<Mono<List<Long>>> members = new ArrayList<>();
      for (World world : worlds(job)) {
        Summing of = new Summing(world, depth, 10);
        for (int set = 0; set < depth; set++) {
          of.ins.get(set)[0] = 1;
        }
        members.add(
            begun(
                of.builder
                    .build()
                    .runs(Flux.range(0, count))
                    .concatMap(
                        run -> {
                          int set = (int) (run % depth);
                          long sum = of.outs.get(set)[0];
                          of.ins.get(set)[0]++;
                          return Mono.just(sum);
                        },
                        1)
                    .collectList()));
      }
      List<Long> expected =
          LongStream.range(0, count).map(k -> 2 * (k / depth + 1)).boxed().toList();
      for (Mono<List<Long>> member : members) {
        assertThat(member.block(LIMIT)).isEqualTo(expected);
      }
    }
  }

  /** Depth 2: with one number requested two runs begin; the third when the second is asked for. */
  @Test
  void demandSaysWhichMemoryIsFree() {
    try (LciTestJob job = LciTestJob.start(1)) {
      Summing of = new Summing(job.rank(0).world(), 2, 1);
      TestPublisher<Integer> ticks = TestPublisher.create();
      AtomicInteger asked = new AtomicInteger();
      TestSubscriber<Long> runs = TestSubscriber.builder().initialRequest(0).build();
      of.builder
          .build()
          .runs(ticks.flux().doOnRequest(n -> asked.addAndGet((int) n)))
          .subscribe(runs);
      settle(job);
      assertThat(asked).hasValue(0);
      runs.request(1);
      assertAsked(job, asked, 1);
      ticks.next(0);
      assertAsked(job, asked, 2); // 0 was emitted, 1 is another set of memory
      ticks.next(0);
      assertAsked(job, asked, 2);
      assertThat(runs.getReceivedOnNext()).containsExactly(0L);
      runs.request(1);
      assertAsked(job, asked, 3);
      assertThat(runs.getReceivedOnNext()).containsExactly(0L, 1L);
      ticks.complete();
      runs.block(LIMIT);
    }
  }

  /** Several turns of the loop. */
  private static void settle(LciTestJob job) {
    for (int i = 0; i < 5; i++) {
      job.rank(0).barrier().block(LIMIT);
    }
  }

  private static void assertAsked(LciTestJob job, AtomicInteger asked, int expected) {
    settle(job);
    assertThat(asked).hasValue(expected);
  }

  @Test
  void anErrorOfTheTicksComesAfterTheRuns() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<Flux<Long>> runs = new ArrayList<>();
      for (World world : worlds(job)) {
        Flux<Integer> ticks =
            Flux.range(0, 3).concatWith(Flux.error(new IllegalStateException("t")));
        runs.add(new Summing(world, 2, 1).builder.build().runs(ticks));
      }
      Mono<List<Long>> second = begun(runs.get(1).onErrorComplete().collectList());
      StepVerifier.create(runs.get(0)).expectNext(0L, 1L, 2L).expectErrorMessage("t").verify(LIMIT);
      assertThat(second.block(LIMIT)).hasSize(3);
    }
  }

  @Test
  void aCancelEndsTheTicksAndNoRun() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Summing of = new Summing(job.rank(0).world(), 2, 1);
      CollectivePlan plan = of.builder.build();
      TestPublisher<Integer> ticks = TestPublisher.create();
      TestSubscriber<Long> runs = TestSubscriber.create();
      plan.runs(ticks).subscribe(runs);
      settle(job, ticks);
      ticks.next(0);
      settle(job, ticks); // the run has begun, and another one may
      runs.cancel();
      await().atMost(LIMIT).until(ticks::wasCancelled);
      Mono<Void> idle = begun(plan.idle());
      CollectivePlan other = new Summing(job.rank(1).world(), 1, 1).builder.build();
      other.run().block(LIMIT);
      idle.block(LIMIT);
      assertThat(runs.getReceivedOnNext()).isEmpty();
    }
  }

  private static void settle(LciTestJob job, TestPublisher<Integer> ticks) {
    Mono.when(job.ranks().stream().map(LciRuntime::barrier).toList()).block(LIMIT);
    ticks.assertMinRequested(1);
  }

  // Runs by themselves

  @Test
  void withoutARequestNothingBegins() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<CollectivePlan> plans =
          worlds(job).stream().map(world -> new Summing(world, 1, 1).builder.build()).toList();
      TestSubscriber<Void> idle = TestSubscriber.builder().initialRequest(0).build();
      plans.get(0).run().subscribe(idle);
      all(plans.stream().map(CollectivePlan::run).toList());
      idle.cancel();
    }
  }

  /**
   * The memory of the run before is in use until that has ended: each one doubles what is there.
   */
  @Test
  void aRunWaitsForTheOneOverTheSameMemory() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<Mono<Void>> runs = new ArrayList<>();
      List<LciBuffer> buffers = new ArrayList<>();
      for (LciRuntime lci : job.ranks()) {
        LciBuffer buffer = lci.memory().buffer(8);
        buffer.view().putLong(0, 1);
        buffers.add(buffer);
        List<Vec> both = List.of(Vec.longs(buffer));
        CollectivePlan plan = lci.world().plan().allReduce(both, both, ReduceOp.SUM).build();
        for (int i = 0; i < 10; i++) {
          runs.add(begun(plan.run()));
        }
      }
      all(runs);
      assertThat(buffers).allSatisfy(b -> assertThat(b.view().getLong(0)).isEqualTo(1024));
    }
  }

  @Test
  void laterCallsBeginWhileARunIsUnderWay() {
    try (LciTestJob job = LciTestJob.start(2)) {
      World first = job.rank(0).world();
      Mono<Void> run = begun(new Summing(first, 1, 1).builder.build().run());
      Mono<Void> barrier = begun(first.barrier());
      await()
          .atMost(LIMIT)
          .until(() -> job.rank(0).snapshot().counter("operations_barrier_posted") == 2); // both
      World second = job.rank(1).world();
      new Summing(second, 1, 1).builder.build().run().then(second.barrier()).block(LIMIT);
      all(List.of(run, barrier));
    }
  }

  @Test
  void aCancelledRunTakesPart() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Summing of = new Summing(job.rank(0).world(), 1, 4);
      CollectivePlan plan = of.builder.segmentBytes(8).build();
      of.ins.get(0)[3] = 7;
      plan.run().subscribe().dispose();
      TestSubscriber<Void> idle = TestSubscriber.create();
      plan.idle().subscribe(idle);
      Mono.when(job.ranks().stream().map(LciRuntime::barrier).toList()).block(LIMIT);
      assertThat(idle.isTerminated()).as("the other member has not run").isFalse();
      Summing second = new Summing(job.rank(1).world(), 1, 4);
      second.builder.segmentBytes(8).build().run().block(LIMIT);
      assertThat(second.outs.get(0)).containsExactly(0, 0, 0, 7);
      idle.block(LIMIT);
      assertThat(idle.isTerminatedComplete()).isTrue();
      assertThat(of.outs.get(0)).as("nobody waited for it").containsOnly(0);
    }
  }

  @Test
  void runsEndOnTheLoopOfTheContext() {
    try (LciTestJob job = LciTestJob.start(1, LciOptions.builder().loops(2).build())) {
      LciRuntime lci = job.rank(0);
      CollectivePlan plan = new Summing(lci.world().context(1, 1), 2, 1).builder.build();
      Mono<Boolean> where = Mono.fromSupplier(() -> lci.loops().get(1).inLoop());
      assertThat(plan.run().then(where).block(LIMIT)).isTrue();
      assertThat(plan.runs(Flux.just(1)).map(k -> lci.loops().get(1).inLoop()).blockLast(LIMIT))
          .isTrue();
    }
  }

  // Errors

  @Test
  void aDeathEndsRuns() {
    try (LciTestJob job = LciTestJob.start(2)) {
      World world = job.rank(0).world();
      CollectivePlan plan = new Summing(world, 1, 100).builder.segmentBytes(80).build();
      CollectivePlan ticking = new Summing(world, 2, 1).builder.build();
      Mono<Void> run = begun(plan.run());
      Mono<Long> runs = begun(ticking.runs(Flux.range(0, 3)).last());
      job.rank(1).abort();
      StepVerifier.create(run).expectError(PeerFailedException.class).verify(LIMIT);
      StepVerifier.create(runs).expectError(PeerFailedException.class).verify(LIMIT);
      plan.idle().block(LIMIT);
      StepVerifier.create(plan.run()).expectError(PeerFailedException.class).verify(LIMIT);
    }
  }

  @Test
  void aPlanOfARevokedGroupIsIdle() {
    try (LciTestJob job = LciTestJob.start(2)) {
      World world = job.rank(0).world();
      CollectivePlan plan = new Summing(world, 1, 1).builder.build();
      Mono<Void> run = begun(plan.run());
      world.revoke("enough");
      StepVerifier.create(run).expectError(CollectiveFailedException.class).verify(LIMIT);
      plan.idle().block(LIMIT);
    }
  }

  /** Whatever the context failed of first. */
  @Test
  void aPlanOfAGroupThatDiedAndWasRevokedIsIdle() {
    try (LciTestJob job = LciTestJob.start(2)) {
      World world = job.rank(0).world();
      CollectivePlan plan = new Summing(world, 1, 1).builder.build();
      Mono<Void> run = begun(plan.run());
      job.rank(1).abort();
      StepVerifier.create(run).expectError(PeerFailedException.class).verify(LIMIT);
      world.revoke("dead");
      plan.idle().block(LIMIT);
    }
  }

  @Test
  void aPlanOfADisposedContextSaysNothingMore() {
    try (LciTestJob job = LciTestJob.start(2)) {
      CollectiveContext context = job.rank(0).world().context(1);
      CollectivePlan plan = new Summing(context, 1, 1).builder.build();
      Mono<Void> run = begun(plan.run());
      context.dispose();
      StepVerifier.create(plan.idle()).expectError(LciClosedException.class).verify(LIMIT);
      new Summing(job.rank(1).world().context(1), 1, 1).builder.build().run().block(LIMIT);
      run.block(LIMIT);
    }
  }

  /** What was said of a call holds for that one alone. */
  @Test
  void aCallThatFollowsAnotherOneInABuilderIsNotDivided() {
    try (LciTestJob job = LciTestJob.start(1)) {
      List<Vec> data = List.of(Vec.longs(new long[4]));
      CollectivePlan.Calls calls = job.rank(0).world().plan();
      calls.allReduce(data, data, ReduceOp.SUM);
      CollectivePlan.Builder gather = calls.allGather(data, List.of(Vec.longs(new long[4])));
      assertThatThrownBy(() -> gather.segmentBytes(8)).isInstanceOf(IllegalArgumentException.class);
    }
  }

  @Test
  void ticksThatThrowWhenTheyAreAskedEndTheRuns() {
    try (LciTestJob job = LciTestJob.start(1)) {
      CollectivePlan plan = new Summing(job.rank(0).world(), 1, 1).builder.build();
      Publisher<Integer> ticks =
          runs ->
              runs.onSubscribe(
                  new Subscription() {
                    @Override
                    public void request(long n) {
                      throw new IllegalStateException("no tick");
                    }

                    @Override
                    public void cancel() {}
                  });
      StepVerifier.create(plan.runs(ticks)).expectErrorMessage("no tick").verify(LIMIT);
    }
  }

  @Test
  void aClosedRuntimeEndsRuns() {
    try (LciTestJob job = LciTestJob.start(2)) {
      CollectivePlan plan = new Summing(job.rank(0).world(), 1, 1).builder.build();
      List<Mono<?>> calls =
          List.of(
              begun(plan.run()),
              begun(plan.run()),
              begun(plan.runs(Flux.range(0, 3)).last()),
              begun(plan.idle()));
      job.rank(0).abort();
      for (Mono<?> call : calls) {
        StepVerifier.create(call).expectError(LciClosedException.class).verify(LIMIT);
      }
      StepVerifier.create(plan.runs(Flux.just(1)))
          .expectError(LciClosedException.class)
          .verify(LIMIT);
    }
  }

  // Arguments

  @Test
  void whatDoesNotFitIsRefused() {
    try (LciTestJob job = LciTestJob.start(2)) {
      World world = job.rank(0).world();
      Vec one = Vec.longs(new long[1]);
      Vec two = Vec.longs(new long[2]);
      Vec other = Vec.longs(new long[1]);
      refused("depth is 3", () -> new Summing(world, 2, 1).builder.depth(3).build());
      refused(
          "depth is 0", () -> world.plan().allReduce(List.of(), List.of(), ReduceOp.SUM).build());
      refused("depth is 17", () -> new Summing(world, 17, 1).builder.build());
      refused(
          "outs has a Vec",
          () -> world.plan().allReduce(List.of(one), List.of(one, other), ReduceOp.SUM).build());
      refused("one type and length", () -> world.plan().broadcast(1, List.of(one, two)).build());
      refused("memory of another run", () -> world.plan().broadcast(1, List.of(one, one)).build());
      refused(
          "memory of another run",
          () ->
              world
                  .plan()
                  .allReduce(List.of(one, other), List.of(other, one), ReduceOp.SUM)
                  .build());
      refused("an element", () -> new Summing(world, 1, 9).builder.segmentBytes(7).build());
      refused(
          "cannot be divided",
          () -> world.plan().allGather(List.of(one), List.of(two)).segmentBytes(8));
      refused(
          "DIRECT is no algorithm",
          () -> new Summing(world, 1, 1).builder.algorithm(Algorithm.DIRECT).build());
      ReduceOp code = ReduceOp.of((type, left, right) -> {}, true);
      refused(
          "done by the core",
          () -> world.plan().allReduce(List.of(one), List.of(one), code).build());
      refused("out needs", () -> world.plan().allGather(List.of(one), List.of(one)).build());
      assertThatNullPointerException()
          .isThrownBy(() -> world.plan().reduce(0, List.of(one), null, ReduceOp.SUM))
          .withMessage("outs");
      assertThatNullPointerException()
          .isThrownBy(() -> new Summing(world, 1, 1).builder.build().runs(null))
          .withMessage("ticks");
    }
  }

  private static void refused(String text, ThrowingCallable code) {
    assertThatIllegalArgumentException().isThrownBy(code).withMessageContaining(text);
  }

  /** Inputs may be shared: they are read alone. */
  @Test
  void inputsOfRunsMayBeTheSame() {
    try (LciTestJob job = LciTestJob.start(1)) {
      Vec in = Vec.longs(new long[] {4});
      long[] out = new long[2];
      CollectivePlan plan =
          job.rank(0)
              .world()
              .plan()
              .allReduce(
                  List.of(in, in),
                  List.of(Vec.longs(out, 0, 1), Vec.longs(out, 1, 1)),
                  ReduceOp.SUM)
              .build();
      plan.run().then(plan.run()).block(LIMIT);
      assertThat(out).containsExactly(4, 4);
    }
  }

  /** All members choose alike, by what the call is. */
  @Test
  void aPlanTellsTheAlgorithmThatTheCoreChooses() {
    try (LciTestJob job = LciTestJob.start(3, OneHost.options())) {
      for (LciRuntime lci : job.ranks()) {
        World world = lci.world();
        assertThat(new Summing(world, 1, 5).builder.build().algorithm())
            .isEqualTo(Algorithm.ARENA_SLOTS);
        assertThat(new Summing(world, 1, 1 << 14).builder.build().algorithm())
            .isEqualTo(Algorithm.RING);
        Group gone = world.subgroup(1, 0, 1, 2);
        CollectivePlan.Builder late = new Summing(gone, 1, 5).builder;
        gone.dispose();
        assertThat(late.build().algorithm()).isEqualTo(Algorithm.AUTO);
      }
    }
  }

  @Test
  void aPlanPrintsItself() {
    try (LciTestJob job = LciTestJob.start(2)) {
      World world = job.rank(0).world();
      CollectivePlan plan =
          new Summing(world, 2, 5)
              .builder
              .algorithm(Algorithm.RING)
              .segmentBytes(24)
              .depth(2)
              .build();
      assertThat(plan.algorithm()).isEqualTo(Algorithm.RING);
      assertThat(plan.depth()).isEqualTo(2);
      assertThat(new Summing(world.with(Algorithm.RING), 1, 5).builder.build().algorithm())
          .isEqualTo(Algorithm.RING);
      assertThat(plan.toDot())
          .isEqualTo(
              """
              digraph plan {
                label="CollectivePlan[allReduce of 3 I64 by SUM (RING) in 2 segments, depth 2 of \
              Group[0 of ranks [0, 1], member 0]]";
                node [shape=box];
                subgraph cluster_0 {
                  label="runs 0, 2, ...";
                  r0_0 [label="allReduce of 3 I64 by SUM (RING)"];
                  r0_1 [label="allReduce of 2 I64 by SUM (RING)"];
                }
                subgraph cluster_1 {
                  label="runs 1, 3, ...";
                  r1_0 [label="allReduce of 3 I64 by SUM (RING)"];
                  r1_1 [label="allReduce of 2 I64 by SUM (RING)"];
                }
                r0_0 -> r0_1;
                r0_1 -> r1_0;
                r0_1 -> r0_0 [style=dashed];
                r1_0 -> r1_1;
                r1_1 -> r1_0 [style=dashed];
              }
              """);
    }
  }

  @Test
  void aPlanPrintsTheAlgorithmThatWasChosen() {
    try (LciTestJob job = LciTestJob.start(2)) {
      CollectivePlan plan = new Summing(job.rank(0).world(), 1, 5).builder.build();
      assertThat(plan.algorithm()).isNotEqualTo(Algorithm.AUTO);
      assertThat(plan.toDot())
          .contains("[allReduce of 5 I64 by SUM (" + plan.algorithm() + ", chosen), depth 1 of ");
    }
  }

  @Test
  void aVecHasParts() {
    Vec vec = Vec.longs(new long[] {1, 2, 3, 4}, 1, 3).slice(1, 2);
    assertThat(vec.offset()).isEqualTo(16);
    assertThat(vec.count()).isEqualTo(2);
    assertThat(vec.type()).isEqualTo(DataType.I64);
    assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> vec.slice(1, 2));
  }
}
