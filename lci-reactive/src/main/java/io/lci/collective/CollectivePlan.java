/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * A call of a group that is checked and prepared once, and made often: {@link Collectives#plan()}.
 * A plan of depth {@code d} has {@code d} sets of memory; run {@code k} uses number {@code k mod
 * d}, and waits until run {@code k - d} has ended. Any thread.
 *
 * <p>A run is one call of its group or context, or several for a long one in segments; its place in
 * the order of calls, its errors, and what a cancel does are those of {@link Collectives}: for
 * instance {@link io.lci.error.PeerFailedException} if a member dies. Every member makes the same
 * number of runs; if one makes fewer, the last runs of the others do not end, and the log names it.
 * Runs have numbers of the plan, from 0, whichever method makes them.
 *
 * @since 0.1
 */
public interface CollectivePlan {
  /** Most sets of memory of a plan. */
  int MAX_DEPTH = 16;

  /**
   * Makes the next run.
   *
   * @return one run per subscription, made at its first request; completes on the loop that serves
   *     the device when the result may be read. Cancel detaches the subscriber, this member still
   *     takes part, and {@link #idle} tells when the memory is free. Errors are those of the call,
   *     such as {@link io.lci.error.PeerFailedException}
   */
  Mono<Void> run();

  /**
   * Makes a run for each tick.
   *
   * @param ticks asked for one at a time, when a run may begin; their values mean nothing. A clock
   *     needs an operator that drops or counts ticks which are not asked for
   * @return one series of runs per subscription. Emits the number of each run, in order, on the
   *     loop that serves the device. Demand: up to depth runs are under way or emitted and in use,
   *     and run {@code k + depth} begins when number {@code k + 1} was requested: the subscriber is
   *     done with the result of {@code k} then. A request for many says so in advance. Cancel ends
   *     the ticks and detaches the subscriber; runs that have begun go on. Completes when the ticks
   *     have, after the last run; ends with their error in the same way, or with that of a run,
   *     such as {@link io.lci.error.PeerFailedException}
   */
  Flux<Long> runs(Publisher<?> ticks);

  /**
   * Tells when no run uses memory any more.
   *
   * @return completes when all runs have ended natively that were asked for before the
   *     subscription's first request, however they ended: on the loop, or if the context has
   *     failed, perhaps on the subscriber's thread. Cancel detaches. Ends with {@link
   *     io.lci.error.LciClosedException} when the runtime closes, and if the context was disposed
   *     of
   */
  Mono<Void> idle();

  /**
   * The algorithm of its runs, which is the same on all members. If a run has segments, it is that
   * of the first one: the core may choose another for a shorter last one.
   *
   * @return the algorithm that was named, or else that the core chooses; AUTO if the group or
   *     context had been disposed of when the plan was built
   */
  Algorithm algorithm();

  /** {@return how many sets of memory it has} */
  int depth();

  /**
   * Prints the plan.
   *
   * @return a graph in the language of Graphviz: the calls of each set of memory, in their order,
   *     and the runs that wait for others; its title says the algorithm, also one that was chosen
   */
  String toDot();

  /**
   * The call of a plan: as the method of {@link Collectives} with the same name, with a {@link Vec}
   * of each set of memory. All lists have the same length, which is the depth, and all Vecs of a
   * list the same type and length.
   *
   * @since 0.1
   */
  interface Calls {
    /**
     * Brings elements of the root to all members.
     *
     * @param root the member that has them
     * @param data at the root read, elsewhere written
     * @return more of the plan
     */
    Builder broadcast(int root, List<Vec> data);

    /**
     * Combines elements at the root.
     *
     * @param root the member that gets the results
     * @param ins what this member brings
     * @param outs where the root gets results. Ignored elsewhere
     * @param op how they are combined
     * @return more of the plan
     */
    Builder reduce(int root, List<Vec> ins, @Nullable List<Vec> outs, ReduceOp op);

    /**
     * Combines elements at all members.
     *
     * @param ins what this member brings
     * @param outs where it gets results
     * @param op how they are combined
     * @return more of the plan
     */
    Builder allReduce(List<Vec> ins, List<Vec> outs, ReduceOp op);

    /**
     * Combines blocks: member {@code i} gets block {@code i}.
     *
     * @param ins a block for each member
     * @param outs where this member gets its blocks
     * @param op how they are combined
     * @return more of the plan
     */
    Builder reduceScatter(List<Vec> ins, List<Vec> outs, ReduceOp op);

    /**
     * Brings the blocks of all members to all.
     *
     * @param ins the blocks of this member
     * @param outs where all blocks go
     * @return more of the plan
     */
    Builder allGather(List<Vec> ins, List<Vec> outs);

    /**
     * Gives each member a block of each.
     *
     * @param ins a block for each member
     * @param outs where a block of each goes
     * @return more of the plan
     */
    Builder allToAll(List<Vec> ins, List<Vec> outs);
  }

  /**
   * How a plan does it. All members say the same. Not thread-safe.
   *
   * @since 0.1
   */
  interface Builder {
    /**
     * Names the algorithm. Default: that of {@link Collectives#with}, or AUTO.
     *
     * @param algorithm must serve the call
     * @return this
     */
    Builder algorithm(Algorithm algorithm);

    /**
     * Divides each run into calls of so many bytes, which are under way together; the last one is
     * shorter. It changes in which order floating-point numbers are combined.
     *
     * @param bytes at least those of an element; for {@code broadcast}, {@code reduce} and {@code
     *     allReduce}. Default: one call
     * @return this
     */
    Builder segmentBytes(long bytes);

    /**
     * Says how many sets of memory there are.
     *
     * @param depth the length of the lists, which is the default
     * @return this
     */
    Builder depth(int depth);

    /**
     * Checks all of it.
     *
     * @return the plan
     * @throws IllegalArgumentException as the method of {@link Collectives}; if lists differ in
     *     length, or are empty or longer than {@link #MAX_DEPTH}; if a result lies in memory of
     *     another run; if the call has no segments; for a {@link Reducer}
     */
    CollectivePlan build();
  }
}
