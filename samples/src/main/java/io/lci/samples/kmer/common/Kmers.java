/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.common;

/**
 * A k-mer is two words: the last 32 bases in {@code low}, two bits each, those before in {@code
 * high}.
 */
public final class Kmers {
  private static final char[] LETTERS = {'A', 'C', 'G', 'T'};

  private Kmers() {}

  /** {@return a well mixed 64-bit hash; every part of it may be used on its own} */
  public static long hash(long high, long low) {
    long h = (low * 0x9E3779B97F4A7C15L) ^ Long.rotateLeft(high * 0xC2B2AE3D27D4EB4FL, 29);
    h = (h ^ (h >>> 32)) * 0xD6E8FEB86659FD93L;
    return h ^ (h >>> 32);
  }

  /** {@return the hash, mapped evenly to 0 .. n - 1 by its upper half} */
  public static int slot(long hash, int n) {
    return (int) (((hash >>> 32) * n) >>> 32);
  }

  /** Writes the letters of a k-mer. */
  public static void letters(long high, long low, int k, StringBuilder out) {
    for (int i = k - 1; i >= 0; i--) {
      long word = i < 32 ? low : high;
      out.append(LETTERS[(int) (word >>> (2 * (i & 31))) & 3]);
    }
  }
}
