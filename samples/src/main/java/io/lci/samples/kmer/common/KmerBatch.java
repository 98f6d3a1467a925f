/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.common;

import io.lci.samples.reads.SequenceReader;

/**
 * Some k-mers with their hashes, unpacked from runs of bases: filter and table look all of them up
 * side by side.
 */
public final class KmerBatch {
  private static final int FULL = 256;
  private static final int ROOM = FULL + SequenceReader.MAX_FRAGMENT;
  private static final int BASES_OF_A_WORD = 32;
  private static final long LOW_BITS_OF_BASES = 0x5555_5555_5555_5555L;

  final long[] high = new long[ROOM];
  final long[] low = new long[ROOM];
  private final long[] hash = new long[ROOM];
  private int size;

  private final KmerShape shape;
  private final long highMask;
  private final long lowMask;
  private final int top;

  /** Creates an empty batch. */
  public KmerBatch(KmerShape shape) {
    this.shape = shape;
    int k = shape.k();
    highMask = isWide() ? mask(k - BASES_OF_A_WORD) : 0;
    lowMask = mask(Math.min(k, BASES_OF_A_WORD));
    top = 2 * ((k - 1) % BASES_OF_A_WORD);
  }

  private static long mask(int bases) {
    return bases == BASES_OF_A_WORD ? -1 : (1L << (2 * bases)) - 1;
  }

  private boolean isWide() {
    return shape.k() > BASES_OF_A_WORD;
  }

  /** {@return the number of k-mers} */
  public int size() {
    return size;
  }

  /** {@return whether it is time to look them up} */
  public boolean isFull() {
    return size >= FULL;
  }

  /** {@return the hashes, as many as there are k-mers} */
  public long[] hashes() {
    return hash;
  }

  /** Forgets all. */
  public void clear() {
    size = 0;
  }

  /** Adds the k-mers of a run that is packed in {@code bytes} from {@code at} on. */
  public void addRun(byte[] bytes, int at, int bases) {
    int before = size;
    size += bases - shape.k() + 1;
    if (isWide()) {
      addWide(bytes, at, bases, before);
    } else {
      addNarrow(bytes, at, bases, before);
    }
  }

  /** K-mers of one word. The first is turned as a whole, the others follow base by base. */
  private void addNarrow(byte[] bytes, int at, int bases, int first) {
    int k = shape.k();
    boolean canonical = shape.canonical();
    long packed = PackedBases.word(bytes, at) & lowMask;
    long forward = turned(packed) >>> (62 - top);
    long reverse = ~packed & lowMask;
    int to = first;
    for (int i = k; ; i++) {
      long least = canonical ? lesser(forward, reverse) : forward;
      high[to] = 0;
      low[to] = least;
      hash[to++] = Kmers.hash(0, least);
      if (i == bases) {
        return;
      }
      long base = base(bytes, at, i);
      forward = (forward << 2 | base) & lowMask;
      reverse = reverse >>> 2 | (3 - base) << top;
    }
  }

  /** K-mers of two words. */
  private void addWide(byte[] bytes, int at, int bases, int first) {
    int k = shape.k();
    boolean canonical = shape.canonical();
    long packedLow = PackedBases.word(bytes, at);
    long packedHigh = PackedBases.word(bytes, at + Long.BYTES) & highMask;
    int unused = 62 - top;
    long forwardHigh = turned(packedLow) >>> unused;
    long forwardLow = turned(packedHigh) >>> unused | turned(packedLow) << (64 - unused);
    long reverseHigh = ~packedHigh & highMask;
    long reverseLow = ~packedLow;
    int to = first;
    for (int i = k; ; i++) {
      long take = canonical ? isLess(reverseHigh, reverseLow, forwardHigh, forwardLow) : 0;
      long leastHigh = forwardHigh ^ ((forwardHigh ^ reverseHigh) & take);
      long leastLow = forwardLow ^ ((forwardLow ^ reverseLow) & take);
      high[to] = leastHigh;
      low[to] = leastLow;
      hash[to++] = Kmers.hash(leastHigh, leastLow);
      if (i == bases) {
        return;
      }
      long base = base(bytes, at, i);
      forwardHigh = (forwardHigh << 2 | forwardLow >>> 62) & highMask;
      forwardLow = forwardLow << 2 | base;
      reverseLow = reverseLow >>> 2 | reverseHigh << 62;
      reverseHigh = reverseHigh >>> 2 | (3 - base) << top;
    }
  }

  private static long base(byte[] bytes, int at, int number) {
    return (bytes[at + (number >>> 2)] >>> (2 * (number & 3))) & 3;
  }

  /** The bases of a word in the opposite order. */
  private static long turned(long bases) {
    long bits = Long.reverse(bases);
    return (bits >>> 1 & LOW_BITS_OF_BASES) | (bits & LOW_BITS_OF_BASES) << 1;
  }

  // No branches: which one is less is as good as random.

  private static long lesser(long a, long b) {
    return a ^ ((a ^ b) & -borrow(b, a));
  }

  /** All ones if a is less than b; the high words have bits to spare. */
  private static long isLess(long aHigh, long aLow, long bHigh, long bLow) {
    return (aHigh - bHigh - borrow(aLow, bLow)) >> 63;
  }

  /** 1 if a is less than b, both without sign. */
  private static long borrow(long a, long b) {
    return ((~a & b) | ((~a | b) & (a - b))) >>> 63;
  }
}
