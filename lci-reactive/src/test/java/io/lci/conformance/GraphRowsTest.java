/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.Op;
import io.lci.am.Payload;
import io.lci.completion.Completion;
import io.lci.completion.CompletionGraph;
import io.lci.completion.CompletionGraph.Node;
import io.lci.completion.CompletionGraph.SignalNode;
import io.lci.completion.GraphResult;
import io.lci.rma.LciBuffer;
import io.lci.rma.MemoryRegion;
import io.lci.rma.RemoteMemory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** Completion graphs whose nodes are operations and functions in Java, on every rank at once. */
class GraphRowsTest {

  /** Each run takes the end of one receive, which was posted outside, and sends what it brought. */
  // Proves: E21
  @Everywhere
  void endsOfOperationsOutsideCompleteNodes(Setting everywhere) {
    everywhere.run(
        world -> {
          int runs = 40;
          CompletionGraph.Builder builder = world.lci().completions().graph();
          SignalNode heard = builder.signal();
          Node<Long> value = builder.call(r -> r.get(heard).message().getLong(0));
          builder.before(heard, value);
          CompletionGraph graph = builder.build();
          Flux<Completion> receives =
              Flux.range(0, runs)
                  .flatMap(
                      i -> world.lci().post(Op.receive(world.previous(), i, 8).completeTo(heard)),
                      4);
          Flux<Completion> sends =
              Flux.range(0, runs)
                  .flatMap(i -> world.lci().post(Op.send(world.next(), i, Payload.ofLong(i))), 4);
          Mono<Long> sum =
              Flux.range(0, runs)
                  .concatMap(i -> graph.run().map(r -> r.get(value)))
                  .reduce(0L, Long::sum);
          Mono<Void> around = Mono.when(receives, sends);
          assertThat(world.await(Mono.zip(sum, around.thenReturn(1))).getT1())
              .isEqualTo(runs * (runs - 1L) / 2);
          world.barrier();
          graph.dispose();
        });
  }

  /** Ranks are in different runs, as no barrier holds them together. */
  // Proves: E23
  @Everywhere
  void runsOfRanksAreToldApart(Setting everywhere) {
    everywhere.run(
        world -> {
          int runs = 200;
          LciBuffer out = world.lci().memory().buffer(8);
          AtomicInteger run = new AtomicInteger();
          CompletionGraph.Builder builder = world.lci().completions().graph();
          Node<Integer> write =
              builder.call(
                  r -> {
                    out.view().putLong(0, run.incrementAndGet());
                    return run.get();
                  });
          Node<Completion> send = builder.op(Op.send(world.next(), 6, out).perRun());
          Node<Completion> receive = builder.op(Op.receive(world.previous(), 6, 8).perRun());
          Node<Boolean> same =
              builder.call(r -> r.get(receive).message().getLong(0) == r.get(write));
          builder.before(write, send).before(write, receive);
          builder.before(send, same).before(receive, same);
          CompletionGraph graph = builder.build();
          Mono<Long> right =
              Flux.range(0, runs)
                  .concatMap(i -> graph.run())
                  .filter(result -> result.get(same))
                  .count();
          assertThat(world.await(right)).isEqualTo(runs);
          world.barrier();
          graph.dispose();
        });
  }

  /** Far more sends are ready than there is room for at the next rank. */
  // Proves: E22
  @Everywhere
  void moreIsReadyThanThereIsRoomFor(Setting everywhere) {
    everywhere.run(
        world -> {
          int wide = 5_000;
          CompletionGraph.Builder builder = world.lci().completions().graph();
          for (int i = 0; i < wide; i++) {
            builder.op(Op.send(world.next(), 7, Payload.ofLong(i)));
          }
          CompletionGraph graph = builder.build();
          Mono<Long> sum =
              Flux.range(0, wide)
                  .flatMap(i -> world.lci().tagged().receive(world.previous(), 7, 8), 32)
                  .map(message -> message.getLong(0))
                  .reduce(0L, Long::sum);
          assertThat(world.await(Mono.zip(sum, graph.run())).getT1())
              .isEqualTo(wide * (wide - 1L) / 2);
          world.barrier();
          graph.dispose();
        });
  }

  /**
   * A function, send and receive, a Mono of another thread, a put, a get, a Mono again, a barrier:
   * each after what is before it, in every run.
   */
  // Proves: V13 E13 E14 E15 E16
  @Everywhere
  void operationsAlternateWithFunctionsAndMonos(Setting everywhere) {
    everywhere.run(
        world -> {
          int runs = 60;
          MemoryRegion mine = world.lci().memory().allocate(64);
          List<RemoteMemory> all = world.open(mine);
          LciBuffer out = world.lci().memory().buffer(256);
          AtomicInteger calls = new AtomicInteger();
          CompletionGraph.Builder builder = world.lci().completions().graph();
          Node<Integer> write =
              builder.call(
                  r -> {
                    int run = calls.incrementAndGet();
                    out.view().putLong(0, run * 100L + world.rank());
                    return run;
                  });
          Node<Completion> send = builder.op(Op.send(world.next(), 9, out));
          Node<Completion> receive = builder.op(Op.receive(world.previous(), 9, 256));
          Node<Long> check =
              builder.mono(
                  r ->
                      Mono.just(r.get(receive).message().getLong(0))
                          .publishOn(Schedulers.parallel()));
          Node<Completion> put =
              builder.op(Op.put(all.get(world.next()), 8, Payload.ofLong(world.rank())));
          Node<Completion> get = builder.op(Op.get(all.get(world.next()), 8, 8));
          Node<Long> last =
              builder.mono(
                  r ->
                      Mono.just(r.get(check) + r.get(get).message().getLong(0))
                          .publishOn(Schedulers.parallel()));
          builder.before(write, send).before(write, receive);
          builder.before(send, check).before(receive, check);
          Node<Completion> together =
              builder.op(Op.barrier()); // messages of two runs have no order
          builder.before(check, put).before(put, get).before(get, last).before(last, together);
          CompletionGraph graph = builder.build();
          List<GraphResult> results =
              world.await(Flux.range(1, runs).concatMap(i -> graph.run()).collectList());
          for (int run = 1; run <= runs; run++) {
            GraphResult result = results.get(run - 1);
            long received = run * 100L + world.previous();
            assertThat(result.get(write)).isEqualTo(run);
            assertThat(result.get(check)).as("run %d", run).isEqualTo(received);
            assertThat(result.get(last)).as("run %d", run).isEqualTo(received + world.rank());
          }
          world.barrier();
          graph.dispose();
          mine.dispose();
        });
  }

  /** All ranks exchange with all others in one run: the end waits for every node. */
  // Proves: E14 E15
  @Everywhere
  void aRunEndsWhenAllOfItHas(Setting everywhere) {
    everywhere.run(
        world -> {
          CompletionGraph.Builder builder = world.lci().completions().graph();
          List<Node<Completion>> receives = new ArrayList<>();
          Node<Integer> sum =
              builder.call(
                  r -> receives.stream().mapToInt(n -> r.get(n).message().getInt(0)).sum());
          for (int distance = 1; distance < world.size(); distance++) {
            Node<Completion> receive = builder.op(Op.receive(world.rankAt(-distance), 5, 8));
            receives.add(receive);
            builder.op(Op.send(world.rankAt(distance), 5, Payload.ofLong(1L << world.rank())));
            builder.before(receive, sum);
          }
          CompletionGraph graph = builder.build();
          int everybody = (1 << world.size()) - 1;
          for (int run = 0; run < 20; run++) {
            GraphResult result = world.await(graph.run());
            assertThat(result.get(sum)).isEqualTo(everybody & ~(1 << world.rank()));
          }
          graph.dispose();
        });
  }
}
