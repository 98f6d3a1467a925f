/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.completion;

import io.lci.completion.CompletionGraph.Node;
import io.lci.completion.GraphResult;
import org.jspecify.annotations.Nullable;

/** The results of one run. Those of operations are read from the core when they are asked for. */
final class GraphValues implements GraphResult {
  private final GraphImpl graph;
  private final @Nullable Object[] values;
  private final boolean[] known;

  GraphValues(GraphImpl graph, int nodes) {
    this.graph = graph;
    this.values = new Object[nodes];
    this.known = new boolean[nodes];
  }

  void set(int node, @Nullable Object value) {
    values[node] = value;
    known[node] = true;
  }

  boolean isKnown(int node) {
    return known[node];
  }

  @Override
  @SuppressWarnings("unchecked") // what a node of T has set is a T
  public <T> @Nullable T get(Node<T> node) {
    int index = graph.own(node).index;
    if (!known[index]) {
      graph.read(index, this);
    }
    if (!known[index]) {
      throw new IllegalStateException("the node has not completed: " + node.name());
    }
    return (T) values[index];
  }
}
