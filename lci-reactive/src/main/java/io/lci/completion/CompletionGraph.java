/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.completion;

import io.lci.Op;
import java.util.function.Function;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;

/**
 * Operations and functions, each of which begins when the nodes before it have completed. A graph
 * is built once by {@link Completions#graph()} and may be run any number of times. One operation
 * follows another natively, without a way through Java.
 *
 * <p>A run is over when every node has completed. The first failure ends it: nodes that have not
 * begun are skipped, unmatched receives are cancelled, and the run waits for everything under way.
 *
 * <p><b>Warning: runs of several ranks are not kept apart.</b> Each run posts the same operations,
 * with the same tags and into the same memory. A rank that runs its graph again may send to a rank
 * that is still in the run before, and that rank takes the message for a part of its own run.
 * Nothing reports it. Make a barrier ({@link Op#barrier()}) the last node, after all others, if the
 * graph is run more than once and exchanges anything with other ranks.
 *
 * <p><b>Warning: a graph must not be wide.</b> Its operations are not refused: an operation without
 * credit waits in the core's backlog, which holds 1,024 operations and 8 MiB to each rank. A run
 * that needs more fails with {@link io.lci.error.ResourceExhaustedException}. Put nodes to one rank
 * behind each other, or post them by {@link io.lci.LciRuntime#post(org.reactivestreams.Publisher,
 * io.lci.PostOptions)}, whose window is bounded.
 *
 * @since 0.1
 */
public interface CompletionGraph extends Disposable {
  /**
   * A node of one graph; names its result in a {@link GraphResult}.
   *
   * @param <T> the type of the result
   */
  interface Node<T> {
    /** {@return a description of the node, for readers} */
    String name();
  }

  /**
   * A node that an operation outside the graph completes; see {@link
   * Op#completeTo(CompletionGraph.SignalNode)}.
   */
  interface SignalNode extends Node<Completion> {}

  /** Collects nodes and their order. One thread at a time. */
  interface Builder {
    /**
     * Adds an operation, posted anew in each run. A payload that is no {@link io.lci.rma.LciBuffer}
     * is copied when the graph is first run; the bytes of a buffer are read in each run, so a node
     * before it may write them.
     *
     * @param op an operation on device 0, without target, deadline and consumers; it is never
     *     refused: if it cannot go out, it waits in the backlog, at whose bound the run fails
     * @return the node; its result is the completion
     */
    Node<Completion> op(Op op);

    /**
     * Adds a function, run on loop 0. It must not block.
     *
     * @param function gets the results of the nodes before it
     * @param <T> result
     * @return the node; its result is the value of the function
     */
    <T> Node<T> call(Function<? super GraphResult, ? extends T> function);

    /**
     * Adds a function whose Mono completes the node. It is called and its Mono subscribed on loop
     * 0, with the Reactor context of the run's subscriber; the Mono may signal on any thread, and
     * is cancelled when the run is.
     *
     * @param function gets the results of the nodes before it
     * @param <T> result
     * @return the node; its result is the value of the Mono, null if it was empty
     */
    <T> Node<T> mono(Function<? super GraphResult, ? extends Mono<? extends T>> function);

    /**
     * Adds a node that waits for the end of an operation posted outside the graph. Each run takes
     * one end, in the order in which they came, when the nodes before this one have completed. An
     * end that no run takes yet, as none is under way, or the one under way has taken its own, is
     * kept for the next, without a bound: something else must bound the operations. The end of an
     * operation that failed fails the run that takes it. A run that is cancelled or fails while the
     * node waits takes none. A disposed graph discards them.
     *
     * @return the node; its result is the completion, with the bytes of a receive or get without a
     *     buffer of its own
     */
    SignalNode signal();

    /**
     * Lets {@code second} begin only when {@code first} has completed.
     *
     * @param first a node of this builder
     * @param second another one
     * @return this
     */
    Builder before(Node<?> first, Node<?> second);

    /**
     * Makes the graph.
     *
     * @return the graph; the builder is used up
     * @throws IllegalArgumentException if the nodes wait for each other in a circle
     */
    CompletionGraph build();
  }

  /**
   * Runs the graph.
   *
   * @return starts at the first request, once per subscription; emits the results on loop 0. Fails
   *     with {@link IllegalStateException} while another run is under way, with the failure of a
   *     function or its Mono, with the error of an operation, with {@link
   *     io.lci.error.LciClosedException} when it is disposed or the runtime closes. Cancel ends the
   *     run: nodes that have not begun are skipped, unmatched receives and Monos of nodes are
   *     cancelled; the graph may be run again when everything under way has ended
   */
  Mono<GraphResult> run();

  /** {@return the graph in the language of Graphviz} */
  String toDot();

  /** Frees the graph; a run under way is cancelled. */
  @Override
  void dispose();
}
