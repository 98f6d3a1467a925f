/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import io.lci.Op;
import io.lci.am.Payload;
import io.lci.completion.Completion;
import io.lci.completion.CompletionGraph;
import io.lci.completion.GraphResult;
import io.lci.error.LciClosedException;
import io.lci.error.ResourceExhaustedException;
import io.lci.internal.completion.GraphNode;
import io.lci.nativebridge.Codes;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Disposable;
import reactor.core.Exceptions;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;

/** Functions and Monos of host nodes that throw where they must not. */
class GraphFaultsTest {
  private final Operations operations = new Operations();
  private final List<Throwable> errors = new ArrayList<>();

  @AfterEach
  void close() {
    operations.close();
  }

  /** What Reactor lets out of subscribe. */
  private static final class Broken extends Mono<Integer> {
    @Override
    public void subscribe(CoreSubscriber<? super Integer> actual) {
      throw Exceptions.bubble(new IllegalStateException("broken"));
    }
  }

  private long answers() {
    return operations.core.submitted().stream()
        .filter(s -> s.op() == Codes.OP_NODE_DONE || s.op() == Codes.OP_NODE_FAILED)
        .count();
  }

  @Test
  void aMonoThatThrowsWhenSubscribedIsAnsweredOnce() {
    operations.answer(Codes.DONE);
    operations.turns(1);
    CompletionGraph.Builder builder = operations.runtime.completions().graph();
    builder.mono(results -> new Broken());
    CompletionGraph graph = builder.build();
    Disposable run = graph.run().subscribe(result -> {}, errors::add);
    operations.turns(2);
    int id = operations.core.lastObject();
    operations.core.graphFires(id, GraphNode.FIRST);
    operations.turns(2);
    assertThat(answers()).isEqualTo(1);
    run.dispose(); // while other nodes would go on
    operations.turns(2);
    assertThat(answers()).isEqualTo(1);
    operations.core.graphEnds(id, Codes.ERR_CANCELLED);
    operations.turns(2);
    graph.dispose();
    assertThat(errors).isEmpty();
  }

  @Test
  void aMonoThatThrowsWhenCancelledKeepsNoRun() {
    operations.answer(Codes.DONE);
    operations.turns(1);
    CompletionGraph.Builder builder = operations.runtime.completions().graph();
    builder.mono(
        results ->
            Mono.create(
                sink ->
                    sink.onCancel(
                        () -> {
                          throw new IllegalStateException("cannot be closed");
                        })));
    CompletionGraph graph = builder.build();
    Disposable run = graph.run().subscribe(result -> {}, errors::add);
    operations.turns(2);
    int id = operations.core.lastObject();
    operations.core.graphFires(id, GraphNode.FIRST);
    operations.turns(2);
    run.dispose();
    operations.turns(2);
    assertThat(answers()).isEqualTo(1);
    assertThat(operations.core.graphCancels).isEqualTo(1);
    operations.core.graphEnds(id, Codes.ERR_CANCELLED);
    operations.turns(2);
    graph.run().subscribe(result -> {}, errors::add).dispose();
    operations.turns(2);
    assertThat(errors).isEmpty();
    graph.dispose();
  }

  /** Hands over its subscriber, to be signalled when the test likes. */
  private static final class ByHand extends Mono<Integer> {
    private final AtomicReference<CoreSubscriber<? super Integer>> subscriber =
        new AtomicReference<>();
    private boolean cancelled;

    @Override
    public void subscribe(CoreSubscriber<? super Integer> actual) {
      subscriber.set(actual);
      actual.onSubscribe(
          new Subscription() {
            @Override
            public void request(long n) {}

            @Override
            public void cancel() {
              cancelled = true;
            }
          });
    }
  }

  /** The run would wait for ever; the source hears of its fault, too (Reactive Streams 2.13). */
  @Test
  void aMonoThatBringsNullFailsItsNode() {
    operations.answer(Codes.DONE);
    operations.turns(1);
    CompletionGraph.Builder builder = operations.runtime.completions().graph();
    ByHand mono = new ByHand();
    builder.mono(results -> mono);
    CompletionGraph graph = builder.build();
    graph.run().subscribe(result -> {}, errors::add);
    operations.turns(2);
    int id = operations.core.lastObject();
    operations.core.graphFires(id, GraphNode.FIRST);
    operations.turns(2);
    assertThat(answers()).isZero();
    assertThatNullPointerException().isThrownBy(() -> mono.subscriber.get().onNext(null));
    operations.turns(2);
    assertThat(answers()).isEqualTo(1);
    assertThat(mono.cancelled).isTrue();
    mono.subscriber.get().onComplete();
    operations.turns(2);
    assertThat(answers()).isEqualTo(1);
    operations.core.graphEnds(id, Codes.ERR_CANCELLED);
    operations.turns(2);
    graph.dispose();
  }

  /** One call reads the results of all nodes, however many there are. */
  @Test
  void theResultsOfARunAreReadByOneCall() {
    operations.answer(Codes.DONE);
    operations.turns(1);
    CompletionGraph.Builder builder = operations.runtime.completions().graph();
    List<CompletionGraph.Node<Completion>> nodes = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      nodes.add(builder.op(Op.send(1, i, Payload.ofLong(i))));
    }
    CompletionGraph graph = builder.build();
    AtomicReference<GraphResult> result = new AtomicReference<>();
    graph.run().subscribe(result::set, errors::add);
    operations.turns(2);
    operations.core.graphEnds(operations.core.lastObject(), Codes.DONE);
    operations.turns(2);
    nodes.forEach(node -> assertThat(result.get().get(node)).isNotNull());
    assertThat(operations.core.statusReads()).isEqualTo(1);
    assertThat(errors).isEmpty();
    graph.dispose();
  }

  /** Keeps its subscription, as an operator does that has not handed on the error yet. */
  private final class Late implements CoreSubscriber<GraphResult> {
    private Subscription subscription = Operators.cancelledSubscription();

    @Override
    public void onSubscribe(Subscription s) {
      subscription = s;
      s.request(1);
    }

    @Override
    public void onNext(GraphResult result) {}

    @Override
    public void onError(Throwable error) {
      errors.add(error);
    }

    @Override
    public void onComplete() {}
  }

  /** The core is not asked again: the lane is freed by then. */
  @Test
  void aRunThatTheCloseEndedIsNotCancelledAgain() {
    operations.answer(Codes.DONE);
    operations.turns(1);
    CompletionGraph.Builder builder = operations.runtime.completions().graph();
    builder.mono(results -> Mono.never());
    CompletionGraph graph = builder.build();
    Late late = new Late();
    graph.run().subscribe(late);
    operations.turns(2);
    operations.runtime.close();
    assertThat(errors).singleElement().isInstanceOf(LciClosedException.class);
    assertThat(operations.core.graphCancels).isEqualTo(1);
    late.subscription.cancel();
    assertThat(operations.core.graphCancels).isEqualTo(1);
    assertThat(operations.core.graphCancelsTooLate).isZero();
    graph.dispose();
  }

  /** As a single receive does. The loop lives on. */
  @Test
  void aRunWhoseResultsFindNoMemoryFails() {
    operations.answer(Codes.DONE);
    operations.turns(1);
    CompletionGraph.Builder builder = operations.runtime.completions().graph();
    builder.op(Op.receive(Operations.PEER, 1, 8));
    CompletionGraph graph = builder.build();
    operations.core.resultBytes = Integer.MAX_VALUE; // no array is so long
    for (int run = 1; run <= 2; run++) {
      graph.run().subscribe(result -> {}, errors::add);
      operations.turns(2);
      operations.core.graphEnds(operations.core.lastObject(), Codes.DONE);
      operations.turns(2);
      assertThat(errors).hasSize(run).last().isInstanceOf(ResourceExhaustedException.class);
    }
    operations.core.resultBytes = 0;
    List<GraphResult> results = new ArrayList<>();
    graph.run().subscribe(results::add, errors::add);
    operations.turns(2);
    operations.core.graphEnds(operations.core.lastObject(), Codes.DONE);
    operations.turns(2);
    assertThat(results).hasSize(1);
    graph.dispose();
  }
}
