/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.common;

import io.lci.samples.reads.FragmentSink;
import io.lci.samples.reads.SequenceReader;

/**
 * Cuts fragments into runs of consecutive k-mers with the same owner. The owner of a k-mer follows
 * from its minimizer: the m-mer within it that is least by hash, where an m-mer and its reverse
 * complement are the same. Neighbours mostly share their minimizer, so runs are long, and k - 1 of
 * a run's bases are sent once instead of once per k-mer.
 */
public final class RunSplitter implements FragmentSink {
  /** Takes runs. */
  @FunctionalInterface
  public interface RunSink {
    /** A run of {@code bases} bases from {@code codes[from]} on, for {@code owner}. */
    void run(int owner, byte[] codes, int from, int bases);
  }

  private final int k;
  private final int m;
  private final int owners;
  private final RunSink sink;
  private final int[] hashes = new int[SequenceReader.MAX_FRAGMENT];
  private final int[] suffixMinimum = new int[SequenceReader.MAX_FRAGMENT];
  private final int[] minimum = new int[SequenceReader.MAX_FRAGMENT];

  /**
   * @param minimizer its length: the shorter, the longer the runs; the longer, the more evenly the
   *     owners are loaded
   */
  public RunSplitter(KmerShape shape, int minimizer, int owners, RunSink sink) {
    this.k = shape.k();
    this.m = minimizer;
    this.owners = owners;
    this.sink = sink;
  }

  @Override
  public void fragment(byte[] codes, int length) {
    int kmers = length - k + 1;
    if (kmers <= 0) {
      return;
    }
    if (owners == 1) {
      sink.run(0, codes, 0, length);
      return;
    }
    hashMinimizers(codes, length);
    findMinima(kmers, k - m + 1);
    emitRuns(codes, kmers);
  }

  private void hashMinimizers(byte[] codes, int length) {
    int mask = (1 << (2 * m)) - 1;
    int top = 2 * (m - 1);
    int forward = 0;
    int reverse = 0;
    for (int i = 0; i < m - 1; i++) {
      forward = forward << 2 | codes[i];
      reverse = reverse >>> 2 | (3 - codes[i]) << top;
    }
    for (int i = m - 1; i < length; i++) {
      forward = (forward << 2 | codes[i]) & mask;
      reverse = reverse >>> 2 | (3 - codes[i]) << top;
      hashes[i - m + 1] = mix(Math.min(forward, reverse));
    }
  }

  /**
   * The minimum of every window of {@code width} hashes, in constant time per window: a window
   * spans at most two blocks of that width, the end of one and the beginning of the next.
   */
  private void findMinima(int kmers, int width) {
    for (int block = 0; block < kmers; block += width) {
      int least = Integer.MAX_VALUE;
      for (int i = block + width - 1; i >= block; i--) {
        least = Math.min(least, hashes[i]);
        suffixMinimum[i] = least;
      }
      int prefix = Integer.MAX_VALUE;
      int stop = Math.min(block + width, kmers);
      for (int i = block; i < stop; i++) {
        minimum[i] = Math.min(suffixMinimum[i], prefix);
        prefix = Math.min(prefix, hashes[Math.min(i + width, hashes.length - 1)]);
      }
    }
  }

  private int ownerOf(int least) {
    // The least of many hashes is small: it must be mixed again before it can be mapped evenly.
    return (int) (((mix(least) & 0xffffffffL) * owners) >>> 32);
  }

  private void emitRuns(byte[] codes, int kmers) {
    int start = 0;
    int owner = ownerOf(minimum[0]);
    for (int i = 1; i < kmers; i++) {
      if (minimum[i] != minimum[i - 1]) {
        int next = ownerOf(minimum[i]);
        if (next != owner) {
          sink.run(owner, codes, start, i - start + k - 1);
          start = i;
          owner = next;
        }
      }
    }
    sink.run(owner, codes, start, kmers - start + k - 1);
  }

  private static int mix(int x) {
    int h = x * 0x9E3779B1;
    h = (h ^ (h >>> 15)) * 0x85EBCA77;
    return h ^ (h >>> 13);
  }
}
