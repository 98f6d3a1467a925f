/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import java.util.List;

/** What a group is known by: the ranks of its members in their order, and a number. */
record GroupKey(List<Integer> ranks, long key) {

  /** A number that all members compute alike, and that tells groups apart as far as 64 bits go. */
  long id() {
    long hash = mixed(key);
    for (int rank : ranks) {
      hash = mixed(hash ^ rank);
    }
    return hash;
  }

  /** The key of the group of those who live after an agreement of this group. */
  long survivorsKey(long agreement) {
    return mixed(id() + agreement);
  }

  /** The finaliser of SplitMix64: each bit of the result depends on each one given. */
  private static long mixed(long value) {
    long z = value + 0x9E37_79B9_7F4A_7C15L;
    z = (z ^ z >>> 30) * 0xBF58_476D_1CE4_E5B9L;
    z = (z ^ z >>> 27) * 0x94D0_49BB_1331_11EBL;
    return z ^ z >>> 31;
  }
}
