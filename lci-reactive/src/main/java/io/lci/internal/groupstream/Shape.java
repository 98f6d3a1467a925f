/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.groupstream;

import io.lci.collective.Group;
import java.util.stream.IntStream;

/**
 * Who takes part in a stream, and as what.
 *
 * @param kind what is done
 * @param root of a kind that has one, else 0
 * @param group the members
 */
record Shape(StreamKind kind, int root, Group group) {
  int size() {
    return group.size();
  }

  int self() {
    return group.rank();
  }

  /** Whether a member may leave alone. */
  boolean isBroadcast() {
    return kind == StreamKind.BROADCAST;
  }

  /** Whether an item of each member is taken in turn. */
  boolean isInRounds() {
    return kind == StreamKind.ALL_REDUCE;
  }

  /** Whether each item goes to all. */
  boolean goesToAll() {
    return isBroadcast() || isInRounds();
  }

  boolean isSource(int member) {
    return kind.isSource(member, root);
  }

  boolean isReceiver(int member) {
    return kind.isReceiver(member, root);
  }

  /** The number of a rank in the group; negative if it is not there. */
  int member(int rank) {
    return IntStream.range(0, size())
        .filter(m -> group.worldRank(m) == rank)
        .findFirst()
        .orElse(-1);
  }

  String operation() {
    return kind.operation();
  }
}
