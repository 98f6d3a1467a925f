/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer;

/** Another rank gave up and said why. */
final class AbortedException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final int rank;

  AbortedException(int rank, String reason) {
    super(reason);
    this.rank = rank;
  }

  /** Who gave up. */
  int rank() {
    return rank;
  }
}
