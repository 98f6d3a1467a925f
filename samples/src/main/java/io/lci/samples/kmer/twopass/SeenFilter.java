/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.twopass;

import io.lci.samples.kmer.common.KmerBatch;
import io.lci.samples.kmer.common.Kmers;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A Bloom filter of two layers that any number of threads fill at once: the first layer holds what
 * was seen, the second what was seen again. A key's bits in a layer all lie in one word, and one
 * fetch-and-or decides: of all threads that add the same key, exactly one finds bits missing. Were
 * they in two words, two threads could each find one missing and both be first, and the key would
 * never reach the second layer: counts would be lost. False positives are harmless, they only make
 * the table hold k-mers that occur once.
 *
 * <p>Both words of a key lie in one cache line. Bits only ever change from 0 to 1, so a plain look
 * that finds all of them set is final and needs no atomic operation.
 */
final class SeenFilter {
  private static final VarHandle WORD = MethodHandles.arrayElementVarHandle(long[].class);
  private static final int LAYERS = 2;
  private static final int MAX_WORDS = (Integer.MAX_VALUE - 8) / LAYERS;

  private final long[] words;
  private final int wordsPerLayer;

  /**
   * Creates an empty filter.
   *
   * @param bitsPerLayer size of each layer, rounded up to whole words
   */
  SeenFilter(long bitsPerLayer) {
    long wanted = Math.max(1, (bitsPerLayer + Long.SIZE - 1) / Long.SIZE);
    wordsPerLayer = (int) Math.min(wanted, MAX_WORDS);
    words = new long[LAYERS * wordsPerLayer];
  }

  /** What an addition found. */
  static final int FIRST = 0;

  static final int SECOND = 1;
  static final int SEEN_OFTEN = 2;

  /**
   * Adds a key once more.
   *
   * @return {@link #FIRST}, {@link #SECOND} or {@link #SEEN_OFTEN}; of equal keys exactly one
   *     addition is the second, unless other keys happened to have set its bits
   */
  int add(long hash) {
    int first = LAYERS * Kmers.slot(hash, wordsPerLayer);
    long bits = bits(hash);
    if (setBits(first, bits)) {
      return FIRST;
    }
    return setBits(first + 1, bits) ? SECOND : SEEN_OFTEN;
  }

  /** Whether a key may have been added more than once; never false if it was. */
  boolean seenAgain(long hash) {
    long bits = bits(hash);
    long word = words[LAYERS * Kmers.slot(hash, wordsPerLayer) + 1];
    return (word & bits) == bits;
  }

  /** Loads the words of a batch, so that later looks find them in the cache; any value. */
  long touch(KmerBatch batch) {
    long sum = 0;
    for (int i = 0; i < batch.size(); i++) {
      sum += words[LAYERS * Kmers.slot(batch.hashes()[i], wordsPerLayer)];
    }
    return sum;
  }

  private boolean setBits(int index, long bits) {
    if ((words[index] & bits) == bits) {
      return false;
    }
    long before = (long) WORD.getAndBitwiseOr(words, index, bits);
    return (before & bits) != bits;
  }

  /** Four bits of a word, not always different. The slot uses the upper half of the hash. */
  private static long bits(long hash) {
    return 1L << hash | 1L << (hash >>> 6) | 1L << (hash >>> 12) | 1L << (hash >>> 18);
  }
}
