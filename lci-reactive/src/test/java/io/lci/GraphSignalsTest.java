/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.completion.Completion;
import io.lci.completion.CompletionGraph;
import io.lci.completion.CompletionGraph.Node;
import io.lci.completion.CompletionGraph.SignalNode;
import io.lci.error.TruncatedException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Nodes of a graph that operations outside it complete. */
@ExtendWith(LciLeakCheck.class)
class GraphSignalsTest {
  private static final Port PORT = Port.of(39, "signals");
  private static final Duration LIMIT = Duration.ofSeconds(60);

  /** A graph with one signal node, whose run brings the user context of the end. */
  private static final class One {
    final SignalNode node;
    final CompletionGraph graph;

    One(LciRuntime lci) {
      CompletionGraph.Builder builder = lci.completions().graph();
      node = builder.signal();
      graph = builder.build();
    }

    Mono<Integer> run() {
      return graph.run().map(done -> done.get(node).userContext());
    }
  }

  private static void awaitWaiting(LciRuntime lci, CompletionGraph graph) {
    // A second run is refused while one is under way
    await()
        .atMost(LIMIT)
        .until(
            () ->
                graph
                    .run()
                    .then(Mono.just(false))
                    .onErrorResume(IllegalStateException.class, e -> Mono.just(true))
                    .block(LIMIT));
    lci.barrier().block(LIMIT); // the loop has come to the node
  }

  /** A run in which operations of the graph come before the node, and after it. */
  // Proves: E21
  // On: inproc
  @ParameterizedTest(name = "peer_memory {0}, chaos {1}")
  @CsvSource({"all,''", "rings,''", "rings,seed=1", "all,seed=2"})
  void aRunGoesOnWithTheEndOfAnOperation(String peerMemory, String chaos) {
    LciOptions options =
        LciOptions.builder()
            .loops(2)
            .devices(2)
            .attribute("peer_memory", peerMemory)
            .attribute("chaos", chaos)
            .build();
    try (LciTestJob job = LciTestJob.start(2, options)) {
      LciRuntime lci = job.rank(0);
      List<Long> heard = new CopyOnWriteArrayList<>();
      Disposable handling = job.rank(1).inbox(PORT).handle(m -> heard.add(m.getLong(0)));
      CompletionGraph.Builder builder = lci.completions().graph();
      Node<Completion> before = builder.op(Op.am(1, PORT, Payload.ofLong(1)));
      SignalNode node = builder.signal();
      Node<Completion> after = builder.op(Op.am(1, PORT, Payload.ofLong(2)));
      Node<Long> value = builder.call(done -> done.get(node).message().getLong(0));
      builder.before(before, node).before(node, after).before(node, value);
      CompletionGraph graph = builder.build();
      for (int device = 0; device < 2; device++) {
        int number = device;
        Op receive = Op.receive(1, 5, 8).advanced(a -> a.device(number)).completeTo(node);
        Op send = Op.send(0, 5, Payload.ofLong(70 + device)).advanced(a -> a.device(number));
        Mono<Long> ran = graph.run().map(done -> done.get(value));
        Mono<Void> around = Mono.when(lci.post(receive), job.rank(1).post(send));
        assertThat(Mono.zip(ran, around.thenReturn(1)).block(LIMIT).getT1()).isEqualTo(70 + device);
      }
      await().atMost(LIMIT).until(() -> heard.size() == 4);
      assertThat(heard).containsExactlyInAnyOrder(1L, 2L, 1L, 2L);
      graph.dispose();
      handling.dispose();
    }
  }

  /** Ends that come before their runs, also two while one is under way, are taken in order. */
  @Test
  void eachRunTakesOneEnd() {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      Disposable handling = lci.inbox(PORT).handle(m -> {});
      One one = new One(lci);
      Op op = Op.am(0, PORT, Payload.ofLong(1)).completeTo(one.node);
      for (int number = 1; number <= 3; number++) {
        lci.post(op.userContext(number)).block(LIMIT);
      }
      assertThat(one.run().block(LIMIT)).isEqualTo(1);
      assertThat(one.run().block(LIMIT)).isEqualTo(2);
      assertThat(one.run().block(LIMIT)).isEqualTo(3);
      List<Integer> ran = new CopyOnWriteArrayList<>();
      one.run().subscribe(ran::add);
      awaitWaiting(lci, one.graph);
      assertThat(ran).isEmpty();
      lci.post(op.userContext(4)).then(lci.post(op.userContext(5))).block(LIMIT);
      await().atMost(LIMIT).until(() -> ran.size() == 1);
      assertThat(ran).containsExactly(4);
      assertThat(one.run().block(LIMIT)).isEqualTo(5);
      one.graph.dispose();
      handling.dispose();
    }
  }

  @Test
  void aFailureFailsTheRunThatTakesIt() {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      One one = new One(lci);
      Op receive = Op.receive(0, 1, 8).completeTo(one.node);
      for (int round = 0; round < 10; round++) {
        lci.post(receive).onErrorComplete().subscribe();
        lci.tagged().send(0, 1, Payload.of(new byte[100])).block(LIMIT);
        assertThatThrownBy(() -> one.run().block(LIMIT)).isInstanceOf(TruncatedException.class);
        lci.post(receive.userContext(round)).subscribe();
        lci.tagged().send(0, 1, Payload.ofLong(1)).block(LIMIT);
        assertThat(one.run().block(LIMIT)).isEqualTo(round);
      }
      one.graph.dispose();
    }
  }

  /** The end that comes later is the next run's. */
  @Test
  void aCancelledRunTakesNone() {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      Disposable handling = lci.inbox(PORT).handle(m -> {});
      One one = new One(lci);
      for (int round = 1; round <= 10; round++) {
        Disposable run = one.run().subscribe();
        awaitWaiting(lci, one.graph);
        run.dispose();
        lci.barrier().block(LIMIT);
        lci.post(Op.am(0, PORT, Payload.empty()).userContext(round).completeTo(one.node))
            .block(LIMIT);
        Mono<Integer> next =
            one.run()
                .retryWhen(
                    reactor.util.retry.Retry.indefinitely()
                        .filter(e -> e instanceof IllegalStateException)); // it is ending still
        assertThat(next.block(LIMIT)).isEqualTo(round);
      }
      one.graph.dispose();
      handling.dispose();
    }
  }

  /** A run that waits for an end is told that its graph went; an end that comes then is dropped. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aDisposedGraphTakesNone(boolean running) {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      Disposable handling = lci.inbox(PORT).handle(m -> {});
      One one = new One(lci);
      List<Throwable> errors = new CopyOnWriteArrayList<>();
      if (running) {
        one.run().subscribe(n -> {}, errors::add);
        awaitWaiting(lci, one.graph);
      }
      one.graph.dispose();
      Flux.range(0, 10)
          .concatMap(n -> lci.post(Op.am(0, PORT, Payload.empty()).completeTo(one.node)))
          .blockLast(LIMIT);
      await().atMost(LIMIT).until(() -> errors.size() == (running ? 1 : 0));
      assertThat(lci.snapshot().counter("loop_uncaught")).isZero();
      handling.dispose();
    }
  }

  /** A run that waits does not hold a graceful close up, as one that receives does not. */
  @Test
  void aRunThatWaitsEndsWithTheRuntime() {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      One one = new One(lci);
      List<Throwable> errors = new CopyOnWriteArrayList<>();
      one.run().subscribe(n -> {}, errors::add);
      awaitWaiting(lci, one.graph);
      lci.disposeGracefully(LIMIT.multipliedBy(60)).block(LIMIT);
      assertThat(errors).hasSize(1);
    }
  }
}
