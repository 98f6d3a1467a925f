/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.common;

import io.lci.samples.reads.SequenceReader;

/**
 * What is counted.
 *
 * @param k bases per k-mer, 1 to {@link #MAX_K}
 * @param canonical a k-mer and its reverse complement are the same, named by the lesser of the two
 */
public record KmerShape(int k, boolean canonical) {
  /**
   * Two bits per base, in two words, with two bits to spare: sums of two high words never overflow.
   */
  public static final int MAX_K = 63;

  /** Checks k. */
  public KmerShape {
    if (k < 1 || k > MAX_K) {
      throw new IllegalArgumentException("k is " + k + ", must be 1 to " + MAX_K);
    }
    if (MAX_K > SequenceReader.MAX_FRAGMENT / 2) {
      throw new AssertionError();
    }
  }

  /**
   * {@return the length of the minimizer: long enough to spread the k-mers well, short enough for
   * long runs}
   *
   * @param most longest one
   */
  public int minimizer(int most) {
    return Math.min(most, (k + 1) / 2);
  }
}
