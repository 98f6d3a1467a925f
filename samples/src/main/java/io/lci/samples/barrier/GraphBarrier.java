/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.barrier;

import io.lci.LciRuntime;
import io.lci.Op;
import io.lci.am.Payload;
import io.lci.completion.Completion;
import io.lci.completion.CompletionGraph;
import io.lci.completion.CompletionGraph.Node;
import java.util.ArrayList;
import java.util.List;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;

/**
 * A barrier over all ranks as a completion graph, built once and run as often as wanted. Nobody
 * waits: the graph goes on natively from step to step, and its Mono completes at the end.
 *
 * <p>Dissemination: in step s each rank tells the rank 2^s further on that all it has heard of have
 * come, so after log2(ranks) steps everyone has heard of everyone.
 *
 * <p>Every run uses the same tags. A message of the next run may come first, and take the place of
 * one that is still under way: they are alike, and n of them from one rank say that it has entered
 * n times.
 */
final class GraphBarrier implements Disposable {
  private final CompletionGraph graph;

  /**
   * Builds the graph.
   *
   * @param lci this rank
   * @param firstTag tags from here on, one for each step, are the barrier's own on every rank
   */
  GraphBarrier(LciRuntime lci, long firstTag) {
    CompletionGraph.Builder builder = lci.completions().graph();
    List<Node<Completion>> heard = new ArrayList<>();
    for (int step = 0, distance = 1; distance < lci.size(); step++, distance *= 2) {
      int to = (lci.rank() + distance) % lci.size();
      int from = (lci.rank() - distance + lci.size()) % lci.size();
      Node<Completion> tell = builder.op(Op.send(to, firstTag + step, Payload.empty()));
      heard.forEach(earlier -> builder.before(earlier, tell));
      heard.add(builder.op(Op.receive(from, firstTag + step, 0)));
    }
    graph = builder.build();
  }

  /**
   * Enters the barrier.
   *
   * @return enters at subscription; completes when every rank has entered as often as this one;
   *     fails if this rank has not left the last run
   */
  Mono<Void> enter() {
    return graph.run().then();
  }

  @Override
  public void dispose() {
    graph.dispose();
  }
}
