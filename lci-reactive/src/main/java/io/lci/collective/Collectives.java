/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import io.lci.Codec;
import java.util.List;
import java.util.function.BinaryOperator;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * Calls that all members of a group make together. A {@link Group} has them, and each {@link
 * CollectiveContext} of it, independently of each other. Any thread.
 *
 * <p><b>Order.</b> Each subscription is one call. It takes its number when its first request comes
 * to the loop, and all members must make the same calls in the same order: the program makes them
 * on one thread, or one {@code then} the other. Calls of different groups or contexts may come in
 * any order. A call that one member never makes does not end on the others; the log names that
 * member.
 *
 * <p><b>Data.</b> {@link Vec} says when memory is read and written. Members and roots are numbers
 * in the group. Type and length of the elements, root, operator and algorithm are equal on all
 * members. A block is the elements that one member brings or gets. The ranges {@code in} and {@code
 * out} are equal or disjoint; {@code in} may also be the own block of {@code out} ({@code
 * allGather}, {@code gather} at its root), and {@code out} that of {@code in} ({@code scatter} at
 * its root). A call whose arguments do not fit each other is refused at once, by {@link
 * IllegalArgumentException}; what does not fit those of the other members ends it on those that
 * need something of each other.
 *
 * <p><b>Results.</b> Operands are combined in an order that depends on the algorithm, the number of
 * members and the length alone, with those of lower members on the left. So all members get the
 * same bits, and each time the same; another algorithm may round differently.
 *
 * <p><b>End.</b> But for a barrier, a call completes when this member has its result and nobody
 * needs its memory any more. Others may not have made the call yet, if this member needs nothing of
 * them.
 *
 * <p><b>Cancel.</b> A cancel, also by {@code timeout}, detaches the subscriber; this member still
 * takes part. Before the first request nothing has begun.
 *
 * <p><b>Errors.</b> A call ends on every member that has not completed it if one calls something
 * else ({@link io.lci.error.CollectiveMismatchException}), revokes the context or has no memory for
 * its part ({@link io.lci.error.CollectiveFailedException}) or dies ({@link
 * io.lci.error.PeerFailedException}). If a member leaves, the calls end that it has not made
 * ({@link io.lci.error.PeerLeftException}). All later calls fail with the same; not every member
 * needs to see it, for some may have completed the call before. After an error the bytes of {@code
 * out} are undefined where it lies in an {@link io.lci.rma.LciBuffer}.
 *
 * <p>Each method returns one call per subscription, made at its first request. It completes on the
 * loop that serves the device. It waits while this member is too far ahead of another one: 64 calls
 * under way, or about 15 that a member has not made yet. Errors are as above, {@link
 * io.lci.error.ResourceExhaustedException} on a member without memory, and {@link
 * io.lci.error.LciClosedException} when the runtime closes, or of a call that comes after {@code
 * dispose}.
 *
 * @since 0.1
 */
public interface Collectives {
  /**
   * The same calls, in the same order and with the same numbers, done by an algorithm of the
   * program's choice. All members choose the same.
   *
   * @param algorithm a call that it never serves is refused with {@link IllegalArgumentException},
   *     and so is one with a codec or a {@link Reducer}; one that it does not serve with so many
   *     members, or with counts, ends with that
   * @return the calls
   */
  Collectives with(Algorithm algorithm);

  /**
   * Prepares a call that is made often.
   *
   * @return the calls that it may be
   */
  CollectivePlan.Calls plan();

  /**
   * Completes when every member has made this call.
   *
   * @return as above
   */
  Mono<Void> barrier();

  /**
   * Brings elements of the root to all members.
   *
   * @param root the member that has them
   * @param data at the root read, elsewhere written; of the same length on all
   * @return as above
   */
  Mono<Void> broadcast(int root, Vec data);

  /**
   * Combines the elements of all members, one by one, at the root.
   *
   * @param root the member that gets the result
   * @param in what this member brings
   * @param out where the root gets the result, of the same length; may be {@code in}. Ignored
   *     elsewhere
   * @param op how they are combined
   * @return as above
   */
  Mono<Void> reduce(int root, Vec in, @Nullable Vec out, ReduceOp op);

  /**
   * Combines the elements of all members, one by one, at all members.
   *
   * @param in what this member brings
   * @param out where it gets the result, of the same length; may be {@code in}
   * @param op how they are combined
   * @return as above
   */
  Mono<Void> allReduce(Vec in, Vec out, ReduceOp op);

  /**
   * Combines numbers of all members.
   *
   * @param value the number of this member
   * @param op how they are combined; it serves {@link DataType#I64}
   * @return as above; emits the result
   */
  Mono<Long> allReduce(long value, ReduceOp op);

  /**
   * Combines numbers of all members.
   *
   * @param value the number of this member
   * @param op how they are combined; it serves {@link DataType#F64}
   * @return as above; emits the result
   */
  Mono<Double> allReduce(double value, ReduceOp op);

  /**
   * Combines the numbers of all members, one by one.
   *
   * @param values the numbers of this member, as many as the others have; see {@link Vec} for when
   *     they are read
   * @param op how they are combined; it serves {@link DataType#I64}
   * @return as above; emits the results, which are the subscriber's
   */
  Mono<long[]> allReduce(long[] values, ReduceOp op);

  /**
   * Combines values of all members, in the order of members, at member 0: all get what the codec
   * makes of the result there. See {@link #allGather(Object, Codec)} for what code of the program
   * may do, and where it runs.
   *
   * @param value the value of this member
   * @param codec how values travel, the same on all members
   * @param op combines the values of lower members, on the left, with that of the next one
   * @param <T> type of the values
   * @return as above; emits the result
   */
  <T> Mono<T> allReduce(T value, Codec<T> codec, BinaryOperator<T> op);

  /**
   * Brings a value of the root to all members. See {@link #allGather(Object, Codec)} for what code
   * of the program may do, and where it runs.
   *
   * @param root the member that has it
   * @param value the value, at the root. Ignored elsewhere
   * @param codec how it travels, the same on all members
   * @param <T> type of the value
   * @return as above; emits the value, at the root the one that was given
   * @throws NullPointerException if the root has none
   */
  <T> Mono<T> broadcast(int root, @Nullable T value, Codec<T> codec);

  /**
   * Brings values of all members to all, of any length.
   *
   * <p>Codec and operators are called on the loop, first at the first request. If one of them
   * throws, or gives null, the call ends on every member that has not completed it with {@link
   * io.lci.error.CollectiveFailedException}, which says what was thrown, and so do later calls. If
   * a result cannot be read at one member, others may have completed the call; their next one
   * fails.
   *
   * <p>Such a call consists of several of the core. Calls that come behind it begin when all
   * members know that no code of the program can end it any more, which is a way to the others and
   * back.
   *
   * @param value the value of this member
   * @param codec how values travel, the same on all members
   * @param <T> type of the values
   * @return as above; emits the values in the order of members, with that of this member as it was
   *     given
   */
  <T> Mono<List<T>> allGather(T value, Codec<T> codec);

  /**
   * Combines blocks of all members: member {@code i} gets the combined block {@code i}.
   *
   * @param in a block for each member
   * @param out where this member gets its block
   * @param op how they are combined
   * @return as above
   */
  Mono<Void> reduceScatter(Vec in, Vec out, ReduceOp op);

  /**
   * As {@link #reduceScatter(Vec, Vec, ReduceOp)}, of blocks that differ in length.
   *
   * @param in a block for each member, one after the other
   * @param out where this member gets its block
   * @param counts elements of each block, the same on all members
   * @param op how they are combined
   * @return as above
   */
  Mono<Void> reduceScatter(Vec in, Vec out, long[] counts, ReduceOp op);

  /**
   * Brings the blocks of all members to all, in the order of members.
   *
   * @param in the block of this member
   * @param out where all blocks go
   * @return as above
   */
  Mono<Void> allGather(Vec in, Vec out);

  /**
   * As {@link #allGather(Vec, Vec)}, of blocks that differ in length.
   *
   * @param in the block of this member
   * @param out where all blocks go, one after the other
   * @param counts elements of each block, the same on all members
   * @return as above
   */
  Mono<Void> allGather(Vec in, Vec out, long[] counts);

  /**
   * Brings the blocks of all members to the root, in the order of members.
   *
   * @param root the member that gets them
   * @param in the block of this member
   * @param out where all blocks go at the root. Ignored elsewhere
   * @return as above
   */
  Mono<Void> gather(int root, Vec in, @Nullable Vec out);

  /**
   * As {@link #gather(int, Vec, Vec)}, of blocks that differ in length.
   *
   * @param root the member that gets them
   * @param in the block of this member
   * @param out where all blocks go at the root, one after the other. Ignored elsewhere
   * @param counts elements of each block. Ignored elsewhere
   * @return as above
   */
  Mono<Void> gather(int root, Vec in, @Nullable Vec out, long @Nullable [] counts);

  /**
   * Gives member {@code i} the block {@code i} of the root.
   *
   * @param root the member that has them
   * @param in the blocks, at the root. Ignored elsewhere
   * @param out where the block of this member goes
   * @return as above
   */
  Mono<Void> scatter(int root, @Nullable Vec in, Vec out);

  /**
   * As {@link #scatter(int, Vec, Vec)}, of blocks that differ in length.
   *
   * @param root the member that has them
   * @param in the blocks, at the root, one after the other. Ignored elsewhere
   * @param out where the block of this member goes
   * @param counts elements of each block. Ignored elsewhere
   * @return as above
   */
  Mono<Void> scatter(int root, @Nullable Vec in, Vec out, long @Nullable [] counts);

  /**
   * Gives each member a block of each: member {@code i} gets block {@code i} of all, in the order
   * of members.
   *
   * @param in a block for each member
   * @param out where a block of each member goes
   * @return as above
   */
  Mono<Void> allToAll(Vec in, Vec out);

  /**
   * As {@link #allToAll(Vec, Vec)}, of blocks that differ in length.
   *
   * @param in a block for each member, one after the other
   * @param sendCounts elements of each of them
   * @param out where a block of each member goes, one after the other
   * @param receiveCounts elements of each of them: what the others have for this member in their
   *     {@code sendCounts}
   * @return as above
   */
  Mono<Void> allToAll(Vec in, long[] sendCounts, Vec out, long[] receiveCounts);

  /**
   * Member {@code i} gets the elements of members 0 to {@code i}, combined one by one.
   *
   * @param in what this member brings
   * @param out where its result goes, of the same length; may be {@code in}
   * @param op how they are combined
   * @return as above
   */
  Mono<Void> scan(Vec in, Vec out, ReduceOp op);

  /**
   * Member {@code i} gets the elements of members 0 to {@code i - 1}, combined one by one.
   *
   * @param in what this member brings
   * @param out where its result goes, of the same length; may be {@code in}. That of member 0 stays
   *     as it is
   * @param op how they are combined
   * @return as above
   */
  Mono<Void> exclusiveScan(Vec in, Vec out, ReduceOp op);

  /**
   * Gives blocks to some members, and gets blocks of some. Each member names the others that name
   * it, and all blocks between two members have one length.
   *
   * @param to the members that get a block of this one, none twice, and not itself
   * @param in a block for each of them, one after the other
   * @param from the members whose block this one gets, none twice, and not itself
   * @param out where a block of each of them goes, one after the other
   * @return as above
   */
  Mono<Void> neighbours(int[] to, Vec in, int[] from, Vec out);

  /**
   * The streams of all members. The first call of this rank opens port 32,766, over which they
   * travel: streams of other members wait until it is open.
   *
   * @return the streams, numbered apart from the calls; of a context those of its own
   * @throws io.lci.error.LciClosedException if the group or the runtime is closed
   */
  GroupStreams streams();
}
