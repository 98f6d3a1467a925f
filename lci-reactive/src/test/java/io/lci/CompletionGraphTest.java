/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.completion.Completion;
import io.lci.completion.CompletionGraph;
import io.lci.completion.CompletionGraph.Node;
import io.lci.completion.Counter;
import io.lci.completion.GraphResult;
import io.lci.completion.QueueOptions;
import io.lci.error.LciClosedException;
import io.lci.error.MemoryClosedException;
import io.lci.rma.LciBuffer;
import io.lci.rma.MemoryRegion;
import io.lci.rma.RemoteMemory;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.core.scheduler.Schedulers;
import reactor.test.StepVerifier;
import reactor.util.retry.Retry;

/** Completion graphs with operations and Java nodes. [E13-E18, V13] */
@ExtendWith(LciLeakCheck.class)
class CompletionGraphTest {
  private static final Port PORT = Port.of(41, "from graphs");
  private static final Duration LIMIT = Duration.ofSeconds(90);

  // Proves: E13 E14
  // On: inproc
  @Test
  void aDiamondRunsInItsOrder() {
    try (LciTestJob job = LciTestJob.start(1)) {
      List<String> order = new ArrayList<>();
      CompletionGraph.Builder builder = job.rank(0).completions().graph();
      Node<Integer> top = builder.call(r -> note(order, "top", 1));
      Node<Integer> left = builder.call(r -> note(order, "left", r.get(top) + 1));
      Node<Integer> right =
          builder.mono(
              r ->
                  Mono.delay(Duration.ofMillis(20), Schedulers.parallel())
                      .map(x -> note(order, "right", r.get(top) + 2)));
      Node<Integer> bottom = builder.call(r -> note(order, "bottom", r.get(left) + r.get(right)));
      builder.before(top, left).before(top, right).before(left, bottom).before(right, bottom);
      CompletionGraph graph = builder.build();
      for (int run = 0; run < 20; run++) {
        order.clear();
        GraphResult result = graph.run().block(LIMIT);
        assertThat(result.get(bottom)).isEqualTo(5);
        assertThat(order).startsWith("top").endsWith("bottom").contains("left", "right").hasSize(4);
      }
      graph.dispose();
    }
  }

  private static int note(List<String> order, String name, int value) {
    synchronized (order) {
      order.add(name);
    }
    return value;
  }

  // Proves: V13
  // On: inproc
  @Test
  void nativeAndJavaNodesAlternateThroughAThousandRuns() {
    int runs = 1_000;
    try (LciTestJob job = LciTestJob.start(2)) {
      MemoryRegion region = job.rank(1).memory().allocate(64);
      RemoteMemory memory = job.rank(0).memory().remote(1, region.handle());
      LciBuffer source = job.rank(0).memory().buffer(256);
      AtomicInteger calls = new AtomicInteger();
      CompletionGraph.Builder builder = job.rank(0).completions().graph();
      Node<Integer> write =
          builder.call(
              r -> {
                int run = calls.incrementAndGet();
                source.view().putLong(0, run);
                return run;
              });
      Node<Completion> send = builder.op(Op.send(1, 9, source));
      Node<Completion> receive = builder.op(Op.receive(1, 10, 256));
      Node<Long> check = builder.call(r -> r.get(receive).message().getLong(0));
      Node<Completion> put = builder.op(Op.put(memory, 8, Payload.ofLong(77)));
      Node<Completion> get = builder.op(Op.get(memory, 8, 8));
      Node<Boolean> last =
          builder.mono(r -> Mono.just(r.get(get).message().getLong(0) == 77 && r.get(check) > 0));
      builder.before(write, send).before(write, receive).before(send, check).before(receive, check);
      builder.before(check, put).before(put, get).before(get, last);
      CompletionGraph graph = builder.build();
      Mono<Long> echoes =
          Flux.range(0, runs)
              .concatMap(
                  i ->
                      job.rank(1)
                          .tagged()
                          .receive(0, 9, 256)
                          .flatMap(
                              m -> job.rank(1).tagged().send(0, 10, Payload.of(m.toByteArray())))
                          .thenReturn(i))
              .count();
      Mono<Long> all =
          Flux.range(1, runs)
              .concatMap(i -> graph.run())
              .doOnNext(
                  result -> {
                    assertThat(result.get(last)).isTrue();
                    assertThat(result.get(check)).isEqualTo(result.get(write).longValue());
                  })
              .count();
      assertThat(Mono.zip(all, echoes).block(LIMIT).getT1()).isEqualTo(runs);
      assertThat(calls).hasValue(runs);
      graph.dispose();
      region.dispose();
    }
  }

  /** The same between two ranks that both run graphs. */
  // Proves: E15 E16
  // On: inproc
  @Test
  void graphsOfTwoRanksTalk() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<CompletionGraph> graphs = new ArrayList<>();
      List<Node<Completion>> received = new ArrayList<>();
      for (int rank = 0; rank < 2; rank++) {
        CompletionGraph.Builder builder = job.rank(rank).completions().graph();
        builder.op(Op.send(1 - rank, 5, Payload.ofLong(100 + rank)));
        received.add(builder.op(Op.receive(1 - rank, 5, 8).userContext(6)));
        graphs.add(builder.build());
      }
      for (int run = 0; run < 100; run++) {
        var results = Mono.zip(graphs.get(0).run(), graphs.get(1).run()).block(LIMIT);
        Completion first = results.getT1().get(received.get(0));
        assertThat(first.message().getLong(0)).isEqualTo(101);
        assertThat(first.rank()).isEqualTo(1);
        assertThat(first.userContext()).isEqualTo(6);
        assertThat(results.getT2().get(received.get(1)).message().getLong(0)).isEqualTo(100);
      }
    }
  }

  @Test
  void anEmptyGraphAndALoneNodeEnd() {
    try (LciTestJob job = LciTestJob.start(1)) {
      CompletionGraph empty = job.rank(0).completions().graph().build();
      StepVerifier.create(empty.run()).expectNextCount(1).expectComplete().verify(LIMIT);
      CompletionGraph.Builder builder = job.rank(0).completions().graph();
      Node<Object> nothing = builder.mono(r -> Mono.empty());
      CompletionGraph alone = builder.build();
      assertThat(alone.run().block(LIMIT).get(nothing)).isNull();
      assertThat(alone.toDot()).contains("digraph", "0 -> 2", "mono");
    }
  }

  @Test
  void aLongChainNeedsNoStack() {
    int length = 20_000;
    try (LciTestJob job = LciTestJob.start(1)) {
      AtomicInteger calls = new AtomicInteger();
      CompletionGraph.Builder builder = job.rank(0).completions().graph();
      Node<Integer> before = builder.call(r -> calls.incrementAndGet());
      for (int i = 1; i < length; i++) {
        Node<Integer> previous = before;
        before = builder.call(r -> calls.incrementAndGet());
        builder.before(previous, before);
      }
      CompletionGraph graph = builder.build();
      assertThat(graph.run().block(LIMIT).get(before)).isEqualTo(length);
      assertThat(calls).hasValue(length);
    }
  }

  @Test
  void theFirstFailureEndsTheRunAndTheGraphMayRunAgain() {
    try (LciTestJob job = LciTestJob.start(1)) {
      AtomicBoolean broken = new AtomicBoolean(true);
      AtomicInteger after = new AtomicInteger();
      CompletionGraph.Builder builder = job.rank(0).completions().graph();
      Node<Integer> fails =
          builder.call(
              r -> {
                if (broken.get()) {
                  throw new IllegalArgumentException("broken");
                }
                return 1;
              });
      Node<Integer> next = builder.call(r -> after.incrementAndGet());
      builder.before(fails, next);
      // Nobody sends this: the failure cancels it.
      CompletionGraph.Builder other = job.rank(0).completions().graph();
      Node<Object> late = other.mono(r -> Mono.error(new IllegalStateException("too late")));
      Node<Completion> unmatched = other.op(Op.receive(0, 99, 8));
      assertThat(late).isNotEqualTo(unmatched);
      CompletionGraph graph = builder.build();
      CompletionGraph cancelled = other.build();
      for (int i = 0; i < 3; i++) {
        StepVerifier.create(graph.run()).expectErrorMessage("broken").verify(LIMIT);
        StepVerifier.create(cancelled.run()).expectErrorMessage("too late").verify(LIMIT);
      }
      assertThat(after).hasValue(0);
      broken.set(false);
      assertThat(graph.run().block(LIMIT).get(next)).isEqualTo(1);
    }
  }

  @Test
  void anOperationsErrorIsTheRuns() {
    try (LciTestJob job = LciTestJob.start(2)) {
      MemoryRegion region = job.rank(1).memory().allocate(64);
      RemoteMemory memory = job.rank(0).memory().remote(1, region.handle());
      CompletionGraph.Builder builder = job.rank(0).completions().graph();
      builder.op(Op.put(memory, 0, Payload.ofLong(1)));
      CompletionGraph graph = builder.build();
      assertThat(graph.run().block(LIMIT)).isNotNull();
      region.dispose();
      StepVerifier.create(graph.run())
          .expectErrorSatisfies(
              e ->
                  assertThat(e)
                      .isInstanceOf(MemoryClosedException.class)
                      .hasMessageContaining("of a graph"))
          .verify(LIMIT);
    }
  }

  @Test
  void cancelEndsTheRunAndWhatItWaitsFor() throws InterruptedException {
    try (LciTestJob job = LciTestJob.start(1)) {
      Sinks.One<Integer> never = Sinks.one();
      ConcurrentLinkedQueue<String> events = new ConcurrentLinkedQueue<>();
      CompletionGraph.Builder builder = job.rank(0).completions().graph();
      builder.mono(
          r ->
              never
                  .asMono()
                  .doOnSubscribe(s -> events.add("waits"))
                  .doOnCancel(() -> events.add("cancelled")));
      builder.op(Op.receive(0, 98, 8));
      CompletionGraph graph = builder.build();
      var run = graph.run().subscribe();
      StepVerifier.create(graph.run())
          .expectErrorMessage("a run of the graph is under way")
          .verify(LIMIT);
      await().atMost(LIMIT).until(() -> events.contains("waits"));
      run.dispose();
      // The one before may still be ending.
      Mono<GraphResult> again =
          graph
              .run()
              .retryWhen(
                  Retry.fixedDelay(1_000, Duration.ofMillis(5))
                      .filter(e -> e instanceof IllegalStateException));
      var second = again.subscribe();
      await().atMost(LIMIT).until(() -> events.contains("cancelled"));
      second.dispose();
      graph.dispose();
      StepVerifier.create(graph.run()).expectError(LciClosedException.class).verify(LIMIT);
    }
  }

  @ParameterizedTest(name = "with a receive {0}")
  @ValueSource(booleans = {false, true})
  void disposeEndsTheRunUnderWayAndItsSubscriberIsTold(boolean receives) {
    try (LciTestJob job = LciTestJob.start(1)) {
      Sinks.Empty<Void> waits = Sinks.empty();
      Sinks.Empty<Void> cancelled = Sinks.empty();
      CompletionGraph.Builder builder = job.rank(0).completions().graph();
      Node<Integer> never =
          builder.mono(
              r ->
                  Mono.<Integer>never()
                      .doOnSubscribe(s -> waits.tryEmitEmpty())
                      .doOnCancel(cancelled::tryEmitEmpty));
      builder.before(never, builder.call(r -> 1));
      if (receives) {
        builder.op(Op.receive(0, 95, 8));
      }
      CompletionGraph graph = builder.build();
      StepVerifier.create(graph.run())
          .then(() -> waits.asMono().block(LIMIT))
          .then(graph::dispose)
          .expectError(LciClosedException.class)
          .verify(LIMIT);
      cancelled.asMono().block(LIMIT);
    }
  }

  /** Else its receive would wait for ever, and no other run could begin. */
  @Test
  void aCancelBeforeTheStartHasGoneOutIsNotLost() {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      CompletionGraph.Builder builder = lci.completions().graph();
      builder.op(Op.send(0, 96, Payload.empty()));
      builder.op(Op.receive(0, 97, 8));
      CompletionGraph graph = builder.build();
      lci.tagged().send(0, 97, Payload.empty()).block(LIMIT);
      graph.run().block(LIMIT);
      lci.tagged().receive(0, 96).block(LIMIT);
      Counter counter = lci.completions().counter();
      Mono.fromRunnable(
              () -> {
                Disposable run = graph.run().subscribe();
                counter.reaches(0).subscribe(count -> run.dispose()); // behind the start
              })
          .subscribeOn(lci.loops().get(0).scheduler())
          .block(LIMIT);
      lci.tagged().receive(0, 96).block(LIMIT);
      Mono<GraphResult> again =
          graph
              .run()
              .retryWhen( // the one before may still be ending
                  Retry.fixedDelay(1_000, Duration.ofMillis(5))
                      .filter(e -> e instanceof IllegalStateException));
      Mono<Message> begun = lci.tagged().receive(0, 96);
      assertThat(Mono.firstWithSignal(begun, again.then(Mono.empty())).block(LIMIT)).isNotNull();
      graph.dispose();
      counter.dispose();
    }
  }

  @Test
  void aCloseEndsARunUnderWay() {
    Mono<GraphResult> run;
    try (LciTestJob job =
        LciTestJob.start(1, LciOptions.builder().closeTimeout(Duration.ofMillis(100)).build())) {
      CompletionGraph.Builder builder = job.rank(0).completions().graph();
      Node<Object> never = builder.mono(r -> Mono.never());
      assertThat(never.name()).contains("mono");
      run = builder.build().run().cache();
      run.subscribe(r -> {}, e -> {});
    }
    StepVerifier.create(run).expectError(LciClosedException.class).verify(LIMIT);
  }

  // Proves: E18
  // On: inproc
  @Test
  void wrongWiringIsRefused() {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      CompletionGraph.Builder builder = lci.completions().graph();
      Node<Integer> a = builder.call(r -> 1);
      Node<Integer> b = builder.call(r -> 2);
      Node<Integer> foreign = lci.completions().graph().call(r -> 3);
      assertThatThrownBy(() -> builder.before(a, a)).isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> builder.before(a, foreign))
          .isInstanceOf(IllegalArgumentException.class);
      var queue = lci.completions().queue(QueueOptions.defaults());
      assertThatThrownBy(() -> builder.op(Op.am(0, PORT, Payload.empty()).completeTo(queue)))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> builder.op(Op.send(1, 0, Payload.empty())))
          .isInstanceOf(IllegalArgumentException.class);
      builder.before(a, b).before(b, a);
      assertThatThrownBy(builder::build)
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("circle");
      queue.dispose();
    }
  }

  @Test
  void payloadsOfEverySizeGoFromGraphs() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<Integer> sizes = new ArrayList<>();
      CompletionGraph.Builder builder = job.rank(0).completions().graph();
      for (int size : new int[] {0, 1, 32, 33, 96, 97, 192, 193, 8_000, 20_000, 100_000}) {
        builder.op(Op.am(1, PORT, Payload.of(new byte[size])).tag(size));
        sizes.add(size);
      }
      CompletionGraph graph = builder.build();
      Mono<List<Integer>> arrived =
          job.rank(1)
              .inbox(PORT)
              .receive(
                  m -> {
                    assertThat(m.tag()).isEqualTo(m.size());
                    return m.size();
                  })
              .take(2L * sizes.size())
              .collectList();
      List<Integer> twice = new ArrayList<>(sizes);
      twice.addAll(sizes);
      var both = Mono.zip(arrived, graph.run().then(graph.run())).block(LIMIT);
      assertThat(both.getT1()).containsExactlyInAnyOrderElementsOf(twice);
    }
  }

  /** Traces and security find their way by it. */
  @Test
  void aNodesMonoHasTheContextOfTheRunsSubscriber() {
    try (LciTestJob job = LciTestJob.start(1)) {
      CompletionGraph.Builder builder = job.rank(0).completions().graph();
      Node<String> node =
          builder.mono(results -> Mono.deferContextual(context -> Mono.just(context.get("user"))));
      CompletionGraph graph = builder.build();
      for (String user : List.of("first", "second")) {
        GraphResult result = graph.run().contextWrite(c -> c.put("user", user)).block(LIMIT);
        assertThat(result.get(node)).isEqualTo(user);
      }
      graph.dispose();
    }
  }
}
