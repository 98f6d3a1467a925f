/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.completion;

import org.jspecify.annotations.Nullable;

/**
 * The results of the nodes of one run. Inside a run it belongs to loop 0, and has the nodes that
 * have completed; after the run it is immutable.
 *
 * @since 0.1
 */
public interface GraphResult {
  /**
   * Returns the result of a node.
   *
   * @param node a node of the graph
   * @param <T> type of the result
   * @return the completion of an operation, or the value of a function
   * @throws IllegalStateException if the node has not completed
   */
  <T> @Nullable T get(CompletionGraph.Node<T> node);
}
