/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.twopass;

import io.lci.am.Port;

/** Who counts what: every loop of every rank owns a part of the k-mers. */
record Owners(int ranks, int loops) {
  private static final int FIRST_BLOCK_PORT = 100;

  int count() {
    return ranks * loops;
  }

  int rank(int owner) {
    return owner / loops;
  }

  int loop(int owner) {
    return owner % loops;
  }

  int owner(int rank, int loop) {
    return rank * loops + loop;
  }

  /** Where the owner on loop {@code loop} of any rank takes blocks. */
  static Port port(int loop) {
    return Port.of(FIRST_BLOCK_PORT + loop, "kmer-blocks-" + loop);
  }
}
