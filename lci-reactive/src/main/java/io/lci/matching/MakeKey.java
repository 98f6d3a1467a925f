/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.matching;

import io.lci.Op;

/**
 * Makes the key of an operation: the value that a send and a receive must have in common. The
 * operation's loop calls it on both sides, at each attempt; the key travels with the send. It must
 * be quick, and depend on its arguments alone.
 *
 * @since 0.1
 */
@FunctionalInterface
public interface MakeKey {
  /**
   * Makes a key.
   *
   * @param rank the source: of a send this rank itself, of a receive as given, {@link
   *     Op#ANY_SOURCE} included
   * @param tag as given, {@link Op#ANY_TAG} included
   * @param policy as given; for a receive, as its wildcards have changed it
   * @return the key, any 64 bits
   */
  long key(int rank, long tag, Op.Policy policy);
}
