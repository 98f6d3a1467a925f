/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.onepass;

/**
 * The partitions of all k-mers. Each belongs to a rank, and all k-mers of a minimizer to one.
 *
 * @param count of all ranks together
 * @param ranks ranks of the job
 */
public record Partitions(int count, int ranks) {
  /** So many bytes of reads for each: then its table fits the cache of a processor. */
  private static final long BYTES_EACH = 256 << 10;

  private static final int LEAST = 64;

  /** Each reader keeps an open block for each. */
  private static final int MOST = 4096;

  /**
   * {@return how many there should be}
   *
   * @param bytes of all reads
   */
  public static int countFor(long bytes) {
    return (int) Math.min(MOST, Math.max(LEAST, bytes / BYTES_EACH));
  }

  /** The rank that counts a partition. */
  int owner(int partition) {
    return partition % ranks;
  }

  /** How many a rank has. */
  int of(int rank) {
    return (count - rank + ranks - 1) / ranks;
  }

  /** The number of a partition among those of its owner. */
  int place(int partition) {
    return partition / ranks;
  }
}
