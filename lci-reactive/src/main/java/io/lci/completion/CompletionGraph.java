/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.completion;

import io.lci.Op;
import io.lci.ReceiveOp;
import io.lci.SendOp;
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
 * <p><b>Runs of several ranks.</b> A rank that runs its graph again may send to a rank that is
 * still in the run before. A send and a receive that are {@link SendOp#perRun() per run} on both
 * sides never meet in different runs. Runs have numbers, which are the same on all ranks if all
 * ranks run the graph equally often: the first is 1 unless {@link #run(long)} says otherwise, and
 * {@link #run()} counts on. After a run that failed or was cancelled, ranks may be in different
 * runs. They then agree on a number above all of theirs and go on by {@link #run(long)}; until then
 * {@link #run()} is refused. Ranks agree without waiting for the ends of such runs: a long send may
 * end only when its receiver goes on. Ranks may be up to 32,767 runs apart; a rank whose peer is
 * further ahead is refused its next run.
 *
 * <p><b>Warning: without that, runs are not kept apart.</b> Each run posts the same operations,
 * with the same tags and into the same memory. A message of another run is taken for one of this
 * run, and nothing reports it. Make a barrier ({@link Op#barrier()}) the last node, after all
 * others, if a graph is run more than once and exchanges anything else with other ranks, such as
 * active messages or puts.
 *
 * <p><b>Room.</b> A graph may be as wide as memory allows. An operation that finds no room waits in
 * memory that the graph has already, behind others of its flow that wait, and its node waits with
 * it. Other operations may overtake it. It goes when there is room; if the run fails before, it
 * never goes.
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
     *     refused: without room it waits, in the graph and not in the backlog
     * @return the node; its result is the completion, with the tag of {@code op}
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
   * Runs the graph. The number of the run is that of the last one plus 1.
   *
   * @return starts at the first request, once per subscription; emits the results on loop 0. Fails
   *     with {@link IllegalStateException} while another run is under way, or if the last run
   *     failed or was cancelled and operations are {@link SendOp#perRun() per run}; with the
   *     failure of a function or its Mono, with the error of an operation, with {@link
   *     io.lci.error.ResourceExhaustedException} where the heap has no room for what receives and
   *     gets without a buffer have brought, with {@link io.lci.error.LciClosedException} when it is
   *     disposed or the runtime closes. Cancel ends the run: nodes that have not begun are skipped,
   *     unmatched receives and Monos of nodes are cancelled; the graph may be run again when
   *     everything under way has ended
   */
  Mono<GraphResult> run();

  /**
   * Runs the graph, with a number that all ranks use for this run. Messages for lower numbers that
   * receives {@link ReceiveOp#perRun() per run} have not taken are dropped.
   *
   * @param number not negative. After the first run it must be above the last number, by at most
   *     32,767: else the Mono fails with {@link IllegalArgumentException}
   * @return as {@link #run()}, also after a run that failed or was cancelled
   */
  Mono<GraphResult> run(long number);

  /** {@return the graph in the language of Graphviz} */
  String toDot();

  /** Frees the graph; a run under way is cancelled. */
  @Override
  void dispose();
}
