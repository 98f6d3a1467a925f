/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.lane;

import io.lci.collective.Algorithm;
import io.lci.collective.DataType;
import io.lci.collective.ReduceOp;
import io.lci.nativebridge.Codes;
import java.util.List;
import java.util.Set;

/**
 * What the core's numbers of a call mean, for those who read. Numbers may be of another version.
 */
public final class CallNames {
  private static final List<CollectiveKind> KINDS = List.of(CollectiveKind.values());
  private static final List<DataType> TYPES = List.of(DataType.values());
  private static final List<Algorithm> ALGORITHMS = List.of(Algorithm.values());

  /** Those with a root. */
  private static final Set<Integer> ROOTED =
      Set.of(
          Codes.COLLECTIVE_BROADCAST,
          Codes.COLLECTIVE_REDUCE,
          Codes.COLLECTIVE_GATHER,
          Codes.COLLECTIVE_SCATTER);

  private CallNames() {}

  /** What a member called. What a call does not have is 0 and left out. */
  public static String call(int kind, int root, int op, int type, int algorithm, long count) {
    StringBuilder text = new StringBuilder(name(KINDS, kind, Codes.COLLECTIVE_BARRIER));
    if (type != 0) {
      text.append(" of ").append(count).append(' ').append(name(TYPES, type, Codes.TYPE_I8));
    }
    if (op != 0) {
      text.append(" by ").append(name(ReduceOp.all(), op, Codes.REDUCE_SUM));
    }
    if (ROOTED.contains(kind)) {
      text.append(" with root ").append(root);
    }
    if (algorithm != 0) {
      text.append(" (").append(name(ALGORITHMS, algorithm, 0)).append(')');
    }
    return text.toString();
  }

  private static String name(List<?> all, int number, int first) {
    int index = number - first;
    return index >= 0 && index < all.size() ? all.get(index).toString() : "no. " + number;
  }
}
