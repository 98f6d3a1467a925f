/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.lane;

import io.lci.collective.Algorithm;
import io.lci.nativebridge.Codes;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;

/** What members of a group do together, by its number in the core. */
public enum CollectiveKind {
  BARRIER(
      "barrier",
      Codes.COLLECTIVE_BARRIER,
      Algorithm.DISSEMINATION,
      Algorithm.ARENA_LINE,
      Algorithm.HIERARCHICAL),
  BROADCAST(
      "broadcast",
      Codes.COLLECTIVE_BROADCAST,
      Algorithm.BINOMIAL,
      Algorithm.KNOMIAL,
      Algorithm.CHAIN,
      Algorithm.SCATTER_ALLGATHER,
      Algorithm.HIERARCHICAL),
  REDUCE(
      "reduce",
      Codes.COLLECTIVE_REDUCE,
      Algorithm.BINOMIAL,
      Algorithm.RABENSEIFNER,
      Algorithm.HIERARCHICAL),
  ALL_REDUCE(
      "allReduce",
      Codes.COLLECTIVE_ALLREDUCE,
      Algorithm.RECURSIVE_DOUBLING,
      Algorithm.RABENSEIFNER,
      Algorithm.RING,
      Algorithm.ARENA_SLOTS,
      Algorithm.HIERARCHICAL),
  REDUCE_SCATTER(
      "reduceScatter",
      Codes.COLLECTIVE_REDUCE_SCATTER,
      Algorithm.RECURSIVE_HALVING,
      Algorithm.PAIRWISE,
      Algorithm.RING),
  ALL_GATHER(
      "allGather",
      Codes.COLLECTIVE_ALLGATHER,
      Algorithm.BRUCK,
      Algorithm.RECURSIVE_DOUBLING,
      Algorithm.RING,
      Algorithm.NEIGHBOUR_EXCHANGE,
      Algorithm.ARENA_SLOTS,
      Algorithm.HIERARCHICAL),
  GATHER("gather", Codes.COLLECTIVE_GATHER, Algorithm.BINOMIAL, Algorithm.LINEAR),
  SCATTER("scatter", Codes.COLLECTIVE_SCATTER, Algorithm.BINOMIAL, Algorithm.LINEAR),
  ALL_TO_ALL("allToAll", Codes.COLLECTIVE_ALLTOALL, Algorithm.BRUCK, Algorithm.PAIRWISE),
  SCAN("scan", Codes.COLLECTIVE_SCAN, Algorithm.RECURSIVE_DOUBLING),
  EXCLUSIVE_SCAN("exclusiveScan", Codes.COLLECTIVE_EXCLUSIVE_SCAN, Algorithm.RECURSIVE_DOUBLING),
  NEIGHBOURS("neighbours", Codes.COLLECTIVE_NEIGHBOURS, Algorithm.DIRECT),
  /** Of {@link io.lci.collective.Group}; it has numbers of its own. */
  AGREE("agree", Codes.COLLECTIVE_AGREE);

  /** Of the core. */
  final int number;

  private final String method;
  private final String operation;
  private final Set<Algorithm> algorithms;

  CollectiveKind(String method, int number, Algorithm... algorithms) {
    this.method = method;
    this.number = number;
    this.operation = method + " of a group";
    Set<Algorithm> ordered = EnumSet.noneOf(Algorithm.class);
    Collections.addAll(ordered, algorithms);
    this.algorithms = Collections.unmodifiableSet(ordered);
  }

  /** What errors call it. */
  public String operation() {
    return operation;
  }

  /** The algorithms that may serve it, beside that of the core's choice. */
  public Set<Algorithm> algorithms() {
    return algorithms;
  }

  /** The method that makes calls of the kind. */
  @Override
  public String toString() {
    return method;
  }
}
