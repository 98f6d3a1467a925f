/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

/**
 * How members of a group do a call. The core chooses one by what all members know alike; {@link
 * Collectives#with} takes another. {@link CollectivePlan#algorithm} tells which, and the meter
 * {@code lci.collective} has it as a tag. Results of whole numbers do not depend on it. Sums and
 * products of floating-point numbers may differ in their last bits, and are the same on all
 * members.
 *
 * @since 0.1
 */
public enum Algorithm {
  /** The core chooses. */
  AUTO,
  /** Barrier: in each round a member tells one that is twice as far away. */
  DISSEMINATION,
  /** Gather and scatter, also with counts: each member with the root. */
  LINEAR,
  /** Broadcast, reduce, gather, scatter: along a binomial tree. */
  BINOMIAL,
  /** Broadcast: along a tree in which a member tells three at a time. */
  KNOMIAL,
  /** Broadcast: from one member to the next, in segments. */
  CHAIN,
  /** Broadcast: a part to each member, and then around a ring. */
  SCATTER_ALLGATHER,
  /**
   * All-reduce, all-gather of 2<sup>k</sup> members, scans: between members whose distance doubles.
   */
  RECURSIVE_DOUBLING,
  /**
   * Reduce, and all-reduce of 2<sup>k</sup> members: blocks are halved and combined, and then
   * gathered.
   */
  RABENSEIFNER,
  /** All-reduce, reduce-scatter, all-gather: around a ring. */
  RING,
  /** Reduce-scatter of 2<sup>k</sup> members: between members whose distance halves. */
  RECURSIVE_HALVING,
  /** Reduce-scatter, all-to-all: with each member in turn. */
  PAIRWISE,
  /** All-gather, all-to-all without counts: few messages, and each block moves several times. */
  BRUCK,
  /** All-gather of an even number of members: with the two neighbours in turn. */
  NEIGHBOUR_EXCHANGE,
  /** Neighbours: with each of them. */
  DIRECT,
  /**
   * Barrier of up to 16 members on one host, where ranks read each other's memory: each looks at a
   * line of each other one.
   */
  ARENA_LINE,
  /** All-reduce, all-gather of such members: the same with up to 1 KiB of each. */
  ARENA_SLOTS,
  /**
   * Barrier, broadcast, reduce, all-reduce of members on several hosts, some of which share one:
   * within each host, then among one member of each, then within each host again. Also all-gather
   * of blocks of one length, if the members of each host follow each other in the group.
   */
  HIERARCHICAL
}
