/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.lci.am.Payload;
import io.lci.completion.Completion;
import io.lci.completion.CompletionGraph;
import io.lci.completion.CompletionGraph.Node;
import io.lci.completion.GraphResult;
import io.lci.matching.EngineOptions;
import io.lci.matching.MatchingEngine;
import io.lci.rma.LciBuffer;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.Disposable;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.util.retry.Retry;

/** Graphs that are run again and again by ranks that are in different runs, and wide ones. */
@ExtendWith(LciLeakCheck.class)
class GraphRunsTest {
  private static final Duration LIMIT = Duration.ofSeconds(120);
  private static final int TAG = 5;
  private static final String NUMBER = "number of the run";

  /** A rank that exchanges a number with another one in each run, and compares what it got. */
  private static final class Side {
    final CompletionGraph graph;
    final AtomicInteger wrong = new AtomicInteger();
    private long number;

    Side(LciRuntime lci) {
      int other = 1 - lci.rank();
      LciBuffer out = lci.memory().buffer(8);
      CompletionGraph.Builder builder = lci.completions().graph();
      // The number is the run's own: a run that was cancelled may go on while the next one is asked
      // for.
      Node<Long> fill =
          builder.mono(
              r ->
                  Mono.deferContextual(
                      run -> {
                        long number = run.get(NUMBER);
                        out.view().putLong(0, number);
                        return Mono.just(number);
                      }));
      Node<Completion> send = builder.op(Op.send(other, TAG, out).perRun());
      Node<Completion> receive = builder.op(Op.receive(other, TAG, 8).perRun());
      Node<Long> compare =
          builder.call(
              r -> {
                Completion came = r.get(receive);
                long value = came.message().getLong(0);
                if (value != r.get(fill) || came.tag() != TAG || r.get(send).tag() != TAG) {
                  wrong.incrementAndGet();
                }
                return value;
              });
      builder.before(fill, send).before(fill, receive);
      builder.before(send, compare).before(receive, compare);
      graph = builder.build();
    }

    /** The next run; by a number if it is given. */
    Mono<GraphResult> run(@Nullable Long given) {
      return Mono.defer(
          () -> {
            number = given == null ? number + 1 : given;
            long own = number;
            return (given == null ? graph.run() : graph.run(given))
                .contextWrite(context -> context.put(NUMBER, own));
          });
    }

    Mono<Void> runs(int count) {
      return Flux.range(0, count).concatMap(i -> run(null)).then();
    }
  }

  /** A cancel may meet the result: whichever comes first, nothing is dropped. */
  private static final class Ignoring extends BaseSubscriber<GraphResult> {
    @Override
    protected void hookOnNext(GraphResult value) {}

    @Override
    protected void hookOnError(Throwable error) {}
  }

  private static LciTestJob late(long seed) {
    return LciTestJob.start(
        2, LciOptions.builder().attribute("chaos", "seed=" + seed + ",delay=0.3,ticks=64").build());
  }

  private static void awaitNothingStored(LciTestJob job) {
    for (LciRuntime lci : job.ranks()) {
      await()
          .atMost(LIMIT)
          .untilAsserted(() -> assertThat(lci.snapshot().counter("unexpected_stored")).isZero());
    }
  }

  /** 3,000 runs of each side, each as fast as it can. */
  // Proves: E23
  // On: chaos
  @ParameterizedTest(name = "seed {0}")
  @ValueSource(longs = {1, 2})
  void runsAreKeptApart(long seed) {
    try (LciTestJob job = late(seed)) {
      List<Side> sides = job.ranks().stream().map(Side::new).toList();
      Mono.when(sides.stream().map(side -> side.runs(3_000)).toList()).block(LIMIT);
      sides.forEach(side -> assertThat(side.wrong).hasValue(0));
      awaitNothingStored(job);
      sides.forEach(side -> side.graph.dispose());
    }
  }

  /** One side is cancelled in a random run; both go on by a number. */
  // Proves: E23
  // On: chaos
  @ParameterizedTest(name = "seed {0}")
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20})
  void aCancelledSideGoesOnByNumber(long seed) {
    Random random = new Random(seed);
    try (LciTestJob job = late(seed)) {
      List<Side> sides = job.ranks().stream().map(Side::new).toList();
      for (int cancelled = 0; cancelled < 5; cancelled++) {
        int well = random.nextInt(20);
        Mono.when(sides.stream().map(side -> side.runs(well)).toList()).block(LIMIT);
        List<Ignoring> runs =
            sides.stream().map(side -> side.run(null).subscribeWith(new Ignoring())).toList();
        for (int turns = random.nextInt(5); turns > 0; turns--) {
          job.rank(0).barrier().and(job.rank(1).barrier()).block(LIMIT);
        }
        runs.get(0).cancel();
        runs.get(1).cancel(); // it may wait for what the other one did not send any more
        long number = sides.get(0).number + 1 + random.nextInt(50);
        Mono.when(sides.stream().map(side -> goOn(side, number)).toList()).block(LIMIT);
      }
      Mono.when(sides.stream().map(side -> side.runs(50)).toList()).block(LIMIT);
      sides.forEach(side -> assertThat(side.wrong).hasValue(0));
      awaitNothingStored(job);
      sides.forEach(side -> side.graph.dispose());
    }
  }

  /** The run that was cancelled ends in its time: until then another one is refused. */
  private static Mono<GraphResult> goOn(Side side, long number) {
    return side.run(number)
        .retryWhen(
            Retry.fixedDelay(Long.MAX_VALUE, Duration.ofMillis(1))
                .filter(e -> e instanceof IllegalStateException && e.getMessage().contains("way")));
  }

  // Proves: E23
  @Test
  void afterAFailureARunNeedsANumber() {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      CompletionGraph.Builder builder = lci.completions().graph();
      Node<Completion> receive = builder.op(Op.receive(0, TAG, 8).perRun());
      AtomicInteger failing = new AtomicInteger(1);
      Node<Integer> after =
          builder.call(
              r -> {
                if (failing.getAndDecrement() == 1) {
                  throw new IllegalArgumentException("as told");
                }
                return 7;
              });
      builder.before(receive, after);
      CompletionGraph graph = builder.build();
      lci.tagged().send(0, 1 << 16 | TAG, Payload.ofLong(1)).block(LIMIT);
      assertThatThrownBy(() -> graph.run().block(LIMIT)).hasMessage("as told");
      assertThatIllegalStateException()
          .isThrownBy(() -> graph.run().block(LIMIT))
          .withMessageContaining("run 1 of the graph failed")
          .withMessageContaining("run(number)");
      assertThatIllegalArgumentException().isThrownBy(() -> graph.run(-1));
      assertThatIllegalArgumentException()
          .isThrownBy(() -> graph.run(1).block(LIMIT))
          .withMessageContaining("after run 1");
      assertThatIllegalArgumentException().isThrownBy(() -> graph.run(32_769).block(LIMIT));
      lci.tagged().send(0, 9 << 16 | TAG, Payload.ofLong(9)).block(LIMIT);
      GraphResult result = graph.run(9).block(LIMIT);
      assertThat(result.get(receive).message().getLong(0)).isEqualTo(9);
      assertThat(result.get(after)).isEqualTo(7);
      lci.tagged().send(0, 10 << 16 | TAG, Payload.ofLong(10)).block(LIMIT);
      assertThat(graph.run().block(LIMIT).get(receive).message().getLong(0)).isEqualTo(10);
      graph.dispose();
    }
  }

  // Proves: E23
  @Test
  void whatCannotBePerRunIsRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Op.send(0, Op.MAX_PER_RUN_TAG + 1, Payload.ofLong(1)).perRun());
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Op.receive(0, Op.MAX_PER_RUN_TAG + 1, 8).perRun());
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Op.receive(Op.ANY_SOURCE, TAG, 8).perRun());
    assertThatIllegalArgumentException().isThrownBy(() -> Op.receive(0, Op.ANY_TAG, 8).perRun());
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      SendOp send = Op.send(0, TAG, Payload.ofLong(1)).perRun();
      assertThat(send.isPerRun()).isTrue();
      assertThat(send.userContext(3).isPerRun()).isTrue();
      assertThat(send).hasToString("send to rank 0 tag 5 per run");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> lci.post(send).block(LIMIT))
          .withMessageContaining("node of a graph");
      CompletionGraph.Builder builder = lci.completions().graph();
      for (Op.Policy policy : List.of(Op.Policy.RANK, Op.Policy.TAG, Op.Policy.NONE)) {
        assertThatIllegalArgumentException()
            .isThrownBy(() -> builder.op(send.advanced(a -> a.matching(policy))));
      }
      MatchingEngine keyed =
          lci.tagged().engine(3, EngineOptions.builder().keys((rank, tag, policy) -> tag).build());
      assertThatIllegalArgumentException().isThrownBy(() -> builder.op(send.engine(keyed)));
      keyed.dispose();
    }
  }

  /** The receiver has room for a hundredth of what is ready, and begins when that is in use. */
  // Proves: E22
  // On: inproc
  @Test
  void aHundredThousandSendsAreReadyAtOnce() {
    int wide = 100_000;
    LciOptions options =
        LciOptions.builder()
            .attribute("engine_messages", "1024")
            .attribute("announcements", "32")
            .build();
    try (LciTestJob job = LciTestJob.start(2, options)) {
      CompletionGraph.Builder builder = job.rank(0).completions().graph();
      List<Node<Completion>> sends = new ArrayList<>();
      for (int i = 0; i < wide; i++) {
        sends.add(builder.op(Op.send(1, TAG, Payload.ofLong(i))));
      }
      CompletionGraph graph = builder.build();
      Mono<GraphResult> run = graph.run().cache();
      run.subscribe(r -> {}, e -> {});
      await().atMost(LIMIT).until(() -> job.rank(1).snapshot().counter("unexpected_stored") >= 500);
      Mono<Long> sum =
          Flux.range(0, wide)
              .flatMap(i -> job.rank(1).tagged().receive(0, TAG, 8), 64)
              .map(message -> message.getLong(0))
              .reduce(0L, Long::sum);
      assertThat(sum.block(LIMIT)).isEqualTo(wide * (wide - 1L) / 2);
      GraphResult result = run.block(LIMIT);
      sends.forEach(send -> assertThat(result.get(send).size()).isEqualTo(8));
      assertThat(job.rank(0).snapshot().counter("backlog_push")).isZero();
      graph.dispose();
    }
  }

  /** Operations that wait for room go with the run that is cancelled. */
  // Proves: E22
  @Test
  void aCancelledRunTakesOutWhatWaits() {
    LciOptions options =
        LciOptions.builder()
            .attribute("engine_messages", "16")
            .attribute("announcements", "2")
            .build();
    try (LciTestJob job = LciTestJob.start(2, options)) {
      LciRuntime lci = job.rank(0);
      CompletionGraph.Builder builder = lci.completions().graph();
      for (int i = 0; i < 1_000; i++) {
        builder.op(Op.send(1, TAG, Payload.ofLong(i)));
      }
      CompletionGraph graph = builder.build();
      Disposable run = graph.run().subscribe(r -> {}, e -> {});
      await().atMost(LIMIT).until(() -> job.rank(1).snapshot().counter("unexpected_stored") >= 8);
      run.dispose();
      await() // a run under way holds up a fence, which what waits does, too
          .atMost(LIMIT)
          .untilAsserted(() -> lci.drained().block(Duration.ofSeconds(5)));
      long sent = lci.snapshot().counter("operations_send_done");
      assertThat(sent).isBetween(8L, 64L);
      Flux.range(0, (int) sent)
          .concatMap(i -> job.rank(1).tagged().receive(0, TAG, 8))
          .blockLast(LIMIT);
      awaitNothingStored(job);
      assertThat(lci.snapshot().counter("operations_send_done")).isEqualTo(sent);
      graph.dispose();
    }
  }
}
