/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.completion;

import io.lci.Op;
import io.lci.completion.Completion;
import io.lci.completion.CompletionGraph;
import io.lci.completion.CompletionGraph.Builder;
import io.lci.completion.CompletionGraph.Node;
import io.lci.completion.CompletionGraph.SignalNode;
import io.lci.completion.GraphResult;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.lane.Dispatcher;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.post.OpCheck;
import io.lci.internal.post.Outbox;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** Collects nodes and edges, and finds what is wrong with them before anything runs. */
public final class GraphBuilder implements Builder {
  private final CoreRuntime core;
  private final Outbox outbox;
  private final Dispatcher dispatcher;
  private final OpCheck check;
  private final List<GraphNode<?>> nodes = new ArrayList<>();
  private final List<List<Integer>> successors = new ArrayList<>();
  private final List<Integer> predecessors = new ArrayList<>();
  private int edges;
  private boolean built;

  public GraphBuilder(CoreRuntime core, Outbox outbox, Dispatcher dispatcher, OpCheck check) {
    this.core = core;
    this.outbox = outbox;
    this.dispatcher = dispatcher;
    this.check = check;
  }

  @Override
  public Node<Completion> op(Op op) {
    check.checkNode(op);
    return add(op, null, null);
  }

  @Override
  public <T> Node<T> call(Function<? super GraphResult, ? extends T> function) {
    return add(null, Objects.requireNonNull(function, "function"), null);
  }

  @Override
  public <T> Node<T> mono(Function<? super GraphResult, ? extends Mono<? extends T>> function) {
    return add(null, null, Objects.requireNonNull(function, "function"));
  }

  @Override
  public SignalNode signal() {
    EventLoop loop = outbox.loop;
    return add(new GraphSignal(this, nodes.size(), loop, new GraphSignals(loop)));
  }

  private <T> GraphNode<T> add(
      @Nullable Op op,
      @Nullable Function<? super GraphResult, ? extends T> call,
      @Nullable Function<? super GraphResult, ? extends Mono<? extends T>> mono) {
    return add(new GraphNode<>(this, nodes.size(), op, call, mono));
  }

  private <N extends GraphNode<?>> N add(N node) {
    refuseBuilt();
    nodes.add(node);
    successors.add(new ArrayList<>(1));
    predecessors.add(0);
    return node;
  }

  @Override
  public Builder before(Node<?> first, Node<?> second) {
    refuseBuilt();
    Objects.requireNonNull(first, "first");
    Objects.requireNonNull(second, "second");
    int from = own(first).index;
    int to = own(second).index;
    if (from == to) {
      throw new IllegalArgumentException("a node cannot wait for itself: " + first.name());
    }
    successors.get(from).add(to);
    predecessors.set(to, predecessors.get(to) + 1);
    edges++;
    return this;
  }

  private GraphNode<?> own(Node<?> node) {
    if (node instanceof GraphNode<?> known && known.owner == this) {
      return known;
    }
    throw new IllegalArgumentException("a node of another graph: " + node);
  }

  @Override
  public CompletionGraph build() {
    refuseBuilt();
    refuseCircles();
    built = true;
    return new GraphImpl(core, outbox, dispatcher, List.copyOf(nodes), edgeTable());
  }

  private void refuseBuilt() {
    if (built) {
      throw new IllegalStateException("the graph was built already");
    }
  }

  /** Takes away nodes that wait for none, until nothing is left, or a circle. */
  private void refuseCircles() {
    List<Integer> waitsFor = new ArrayList<>(predecessors);
    ArrayDeque<Integer> ready = new ArrayDeque<>();
    for (int i = 0; i < nodes.size(); i++) {
      if (waitsFor.get(i) == 0) {
        ready.add(i);
      }
    }
    int taken = 0;
    for (Integer node = ready.poll(); node != null; node = ready.poll()) {
      taken++;
      for (int next : successors.get(node)) {
        waitsFor.set(next, waitsFor.get(next) - 1);
        if (waitsFor.get(next) == 0) {
          ready.add(next);
        }
      }
    }
    if (taken < nodes.size()) {
      throw new IllegalArgumentException(
          (nodes.size() - taken) + " nodes wait for each other in a circle");
    }
  }

  /** Pairs of the core's node numbers: from START to what waits for none, and between nodes. */
  private int[] edgeTable() {
    int firsts = (int) predecessors.stream().filter(count -> count == 0).count();
    int[] table = new int[2 * (firsts + edges)];
    int at = 0;
    for (int i = 0; i < nodes.size(); i++) {
      if (predecessors.get(i) == 0) {
        table[at++] = io.lci.nativebridge.Codes.GRAPH_START;
        table[at++] = i + GraphNode.FIRST;
      }
      for (int next : successors.get(i)) {
        table[at++] = i + GraphNode.FIRST;
        table[at++] = next + GraphNode.FIRST;
      }
    }
    return table;
  }
}
