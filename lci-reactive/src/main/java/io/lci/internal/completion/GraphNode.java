/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.completion;

import io.lci.Op;
import io.lci.completion.CompletionGraph.Node;
import io.lci.completion.GraphResult;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * A node: an operation, a function, or a function that returns a Mono; a {@link GraphSignal} is one
 * of the last kind.
 *
 * @param <T> result
 */
public class GraphNode<T> implements Node<T> {
  /** The core numbers START 0, END 1, and the table's entries from here. */
  public static final int FIRST = 2;

  final GraphBuilder owner;
  final int index;
  final @Nullable Op op;
  final @Nullable Function<? super GraphResult, ? extends T> call;
  final @Nullable Function<? super GraphResult, ? extends Mono<? extends T>> mono;

  GraphNode(
      GraphBuilder owner,
      int index,
      @Nullable Op op,
      @Nullable Function<? super GraphResult, ? extends T> call,
      @Nullable Function<? super GraphResult, ? extends Mono<? extends T>> mono) {
    this.owner = owner;
    this.index = index;
    this.op = op;
    this.call = call;
    this.mono = mono;
  }

  @Override
  public String name() {
    return index + ": " + (op != null ? op.toString() : call != null ? "call" : "mono");
  }

  @Override
  public String toString() {
    return "Node[" + name() + ']';
  }
}
