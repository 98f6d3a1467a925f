/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer;

import io.lci.samples.reads.SequenceReader;

/**
 * Some k-mers with their hashes, unpacked from runs: filter and table look all of them up side by
 * side.
 */
final class KmerBatch {
  private static final int FULL = 256;
  private static final int ROOM = FULL + SequenceReader.MAX_FRAGMENT;

  final long[] high = new long[ROOM];
  final long[] low = new long[ROOM];
  final long[] hash = new long[ROOM];
  private int size;

  private final KmerShape shape;
  private final long highMask;
  private final long lowMask;
  private final int highTop;
  private final int lowTop;

  KmerBatch(KmerShape shape) {
    this.shape = shape;
    int k = shape.k();
    boolean one = k <= 32;
    highMask = one ? 0 : mask(k - 32);
    lowMask = one ? mask(k) : -1;
    highTop = one ? 0 : 2 * (k - 33);
    lowTop = one ? 2 * (k - 1) : 62;
  }

  private static long mask(int bases) {
    return bases == 32 ? -1 : (1L << (2 * bases)) - 1;
  }

  int size() {
    return size;
  }

  boolean isFull() {
    return size >= FULL;
  }

  void clear() {
    size = 0;
  }

  /** Adds the k-mers of a run that is packed in {@code message} from {@code at} on. */
  void addRun(byte[] message, int at, int bases) {
    int before = size;
    if (shape.canonical()) {
      addCanonical(message, at, bases);
    } else {
      addForward(message, at, bases);
    }
    for (int i = before; i < size; i++) {
      hash[i] = Kmers.hash(high[i], low[i]);
    }
  }

  private void addForward(byte[] message, int at, int bases) {
    int k = shape.k();
    long forwardHigh = 0;
    long forwardLow = 0;
    long packed = 0;
    int to = size;
    for (int i = 0; i < bases; i++) {
      packed = (i & 31) == 0 ? Block.word(message, at + (i >>> 2)) : packed >>> 2;
      forwardHigh = (forwardHigh << 2 | forwardLow >>> 62) & highMask;
      forwardLow = (forwardLow << 2 | (packed & 3)) & lowMask;
      if (i >= k - 1) {
        high[to] = forwardHigh;
        low[to++] = forwardLow;
      }
    }
    size = to;
  }

  private void addCanonical(byte[] message, int at, int bases) {
    int k = shape.k();
    boolean one = k <= 32;
    long forwardHigh = 0;
    long forwardLow = 0;
    long reverseHigh = 0;
    long reverseLow = 0;
    long packed = 0;
    int to = size;
    for (int i = 0; i < bases; i++) {
      packed = (i & 31) == 0 ? Block.word(message, at + (i >>> 2)) : packed >>> 2;
      long base = packed & 3;
      long complement = 3 - base;
      forwardHigh = (forwardHigh << 2 | forwardLow >>> 62) & highMask;
      forwardLow = (forwardLow << 2 | base) & lowMask;
      long carried = one ? complement << lowTop : reverseHigh << 62;
      reverseLow = reverseLow >>> 2 | carried;
      reverseHigh = one ? 0 : reverseHigh >>> 2 | complement << highTop;
      if (i >= k - 1) {
        // All ones if the reverse complement is less. No branch: the answer is as good as random.
        long borrow =
            ((~reverseLow & forwardLow) | ((~reverseLow | forwardLow) & (reverseLow - forwardLow)))
                >>> 63;
        long reverseIsLess = (reverseHigh - forwardHigh - borrow) >> 63;
        high[to] = forwardHigh ^ ((forwardHigh ^ reverseHigh) & reverseIsLess);
        low[to++] = forwardLow ^ ((forwardLow ^ reverseLow) & reverseIsLess);
      }
    }
    size = to;
  }
}
