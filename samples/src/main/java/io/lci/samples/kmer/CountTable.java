/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer;

/**
 * Counts k-mers: open addressing with linear probing over one array of words, three to an entry:
 * high, low, count. An entry with count 0 is free. Belongs to one thread.
 */
final class CountTable {
  /** Takes entries. */
  @FunctionalInterface
  interface EntrySink {
    void entry(long high, long low, long count);
  }

  private static final int ENTRY = 3;
  private static final int COUNT = 2;
  private static final int MAX_ENTRIES = (Integer.MAX_VALUE - 8) / ENTRY;
  private static final int LEAST_ENTRIES = 64;
  private static final double FULLEST = 0.7;
  private static final double COMFORTABLE = 0.5;

  private long[] words;
  private int capacity;
  private int size;

  /** Creates a table with room for about {@code expected} k-mers; it grows beyond. */
  CountTable(long expected) {
    capacity = capacityFor(expected);
    words = new long[ENTRY * capacity];
  }

  private static int capacityFor(long expected) {
    return (int) Math.min(MAX_ENTRIES, Math.max(LEAST_ENTRIES, (long) (expected / COMFORTABLE)));
  }

  /** Number of k-mers in the table. */
  int size() {
    return size;
  }

  /** Counts every k-mer of a batch that the table holds or that the filter says was seen again. */
  void count(KmerBatch batch, SeenFilter filter) {
    ensureRoom(batch.size());
    for (int i = 0; i < batch.size(); i++) {
      long high = batch.high[i];
      long low = batch.low[i];
      long hash = batch.hash[i];
      int at = find(high, low, hash);
      if (words[at + COUNT] != 0) {
        words[at + COUNT]++;
      } else if (filter.seenAgain(hash)) {
        words[at] = high;
        words[at + 1] = low;
        words[at + COUNT] = 1;
        size++;
      }
    }
  }

  /**
   * Loads the entries of {@code size} keys, so that later looks find them in the cache; any value.
   */
  long touch(long[] hashes, int size) {
    long sum = 0;
    for (int i = 0; i < size; i++) {
      sum += words[ENTRY * Kmers.slot(hashes[i], capacity)];
    }
    return sum;
  }

  /** Hands over all entries, in no particular order. */
  void forEach(EntrySink sink) {
    for (int at = 0; at < words.length; at += ENTRY) {
      if (words[at + COUNT] != 0) {
        sink.entry(words[at], words[at + 1], words[at + COUNT]);
      }
    }
  }

  /**
   * Starts a walk over the k-mers that occur more than once. The table must not change meanwhile.
   */
  Cursor repeated() {
    return new Cursor();
  }

  /** A walk over the table in portions. */
  final class Cursor {
    private int at;

    /**
     * Copies the next k-mers as triples high, low, count.
     *
     * @return words written, as many as fit; 0 at the end
     */
    int next(long[] out) {
      int to = 0;
      for (; at < words.length && to + ENTRY <= out.length; at += ENTRY) {
        if (words[at + COUNT] > 1) {
          System.arraycopy(words, at, out, to, ENTRY);
          to += ENTRY;
        }
      }
      return to;
    }
  }

  /** Index of the k-mer's entry, or of the free one where it belongs. */
  private int find(long high, long low, long hash) {
    int at = ENTRY * Kmers.slot(hash, capacity);
    while (words[at + COUNT] != 0 && (words[at + 1] != low || words[at] != high)) {
      at += ENTRY;
      if (at == words.length) {
        at = 0;
      }
    }
    return at;
  }

  private void ensureRoom(int more) {
    if (size + more <= (long) (capacity * FULLEST)) {
      return;
    }
    int grown = capacityFor((size + more) * 3L / 2);
    if (size + more >= grown) {
      throw new OutOfMemoryError(
          "A loop's table holds at most " + MAX_ENTRIES + " k-mers; use more loops or ranks.");
    }
    long[] old = words;
    words = new long[ENTRY * grown];
    capacity = grown;
    for (int at = 0; at < old.length; at += ENTRY) {
      if (old[at + COUNT] != 0) {
        int to = find(old[at], old[at + 1], Kmers.hash(old[at], old[at + 1]));
        System.arraycopy(old, at, words, to, ENTRY);
      }
    }
  }
}
