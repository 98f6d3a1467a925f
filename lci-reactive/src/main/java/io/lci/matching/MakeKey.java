/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.matching;

import io.lci.Op;

/**
 * Makes the key of an operation: what a send and a receive must have in common. Called on the
 * operation's loop by whoever posts, on both sides, at each attempt; the key travels with the send.
 * Must be quick, and depend on its arguments alone.
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
   * @param policy as given; of a receive, what its wildcards have made of it
   * @return the key, any 64 bits
   */
  long key(int rank, long tag, Op.Policy policy);
}
