/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.common;

import java.util.Arrays;
import java.util.function.LongPredicate;

/**
 * Counts k-mers: open addressing with linear probing over one array of words, three to an entry:
 * high, low, count. An entry with count 0 is free. Belongs to one thread.
 */
public final class CountTable {
  /** Takes entries. */
  @FunctionalInterface
  public interface EntrySink {
    /** A k-mer, and how often it occurred. */
    void entry(long high, long low, long count);
  }

  private static final int ENTRY = 3;
  private static final int COUNT = 2;
  private static final int MAX_ENTRIES = (Integer.MAX_VALUE - 8) / ENTRY;
  private static final int LEAST_ENTRIES = 64;
  private static final double FULLEST = 0.7;
  private static final double COMFORTABLE = 0.5;

  /** Of a larger table that is cleared, words are given back if fewer than one in so many serve. */
  private static final int WASTE = 8;

  private long[] words;
  private int capacity;

  /** Words in use: three for each entry of the capacity. */
  private int end;

  private int size;

  /** Creates a table with room for about {@code expected} k-mers; it grows beyond. */
  public CountTable(long expected) {
    capacity = capacityFor(expected);
    end = ENTRY * capacity;
    words = new long[end];
  }

  private static int capacityFor(long expected) {
    return (int) Math.min(MAX_ENTRIES, Math.max(LEAST_ENTRIES, (long) (expected / COMFORTABLE)));
  }

  /** Empties it, and makes room for about {@code expected} k-mers. */
  public void clear(long expected) {
    capacity = capacityFor(expected);
    end = ENTRY * capacity;
    size = 0;
    if (words.length < end || words.length / WASTE > end) {
      words = new long[end];
    } else {
      Arrays.fill(words, 0, end, 0);
    }
  }

  /** {@return the number of k-mers in the table} */
  public int size() {
    return size;
  }

  /** Counts every k-mer of a batch. */
  public void count(KmerBatch batch) {
    ensureRoom(batch.size());
    long[] hashes = batch.hashes();
    for (int i = 0; i < batch.size(); i++) {
      long high = batch.high[i];
      long low = batch.low[i];
      int at = find(high, low, hashes[i]);
      if (words[at + COUNT]++ == 0) {
        words[at] = high;
        words[at + 1] = low;
        size++;
      }
    }
  }

  /** Counts every k-mer of a batch that the table holds or whose hash is admitted. */
  public void count(KmerBatch batch, LongPredicate admitted) {
    ensureRoom(batch.size());
    long[] hashes = batch.hashes();
    for (int i = 0; i < batch.size(); i++) {
      long high = batch.high[i];
      long low = batch.low[i];
      int at = find(high, low, hashes[i]);
      if (words[at + COUNT] != 0) {
        words[at + COUNT]++;
      } else if (admitted.test(hashes[i])) {
        words[at] = high;
        words[at + 1] = low;
        words[at + COUNT] = 1;
        size++;
      }
    }
  }

  /**
   * Loads the entries of a batch, so that later looks find them in the cache.
   *
   * @return any value
   */
  public long touch(KmerBatch batch) {
    long sum = 0;
    for (int i = 0; i < batch.size(); i++) {
      sum += words[ENTRY * Kmers.slot(batch.hashes()[i], capacity)];
    }
    return sum;
  }

  /** Hands over all entries, in no particular order. */
  public void forEach(EntrySink sink) {
    for (int at = 0; at < end; at += ENTRY) {
      if (words[at + COUNT] != 0) {
        sink.entry(words[at], words[at + 1], words[at + COUNT]);
      }
    }
  }

  /**
   * {@return a walk over the k-mers that occur more than once} The table must not change meanwhile.
   */
  public Cursor repeated() {
    return new Cursor();
  }

  /** A walk over the table in portions. */
  public final class Cursor {
    private int at;

    private Cursor() {}

    /**
     * Copies the next k-mers as triples high, low, count.
     *
     * @return words written, as many as fit; 0 at the end
     */
    public int next(long[] out) {
      int to = 0;
      for (; at < end && to + ENTRY <= out.length; at += ENTRY) {
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
      if (at == end) {
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
      throw new IllegalStateException(
          "A table holds at most " + MAX_ENTRIES + " k-mers; use more loops or ranks.");
    }
    long[] old = words;
    int oldEnd = end;
    capacity = grown;
    end = ENTRY * grown;
    words = new long[end];
    for (int at = 0; at < oldEnd; at += ENTRY) {
      if (old[at + COUNT] != 0) {
        int to = find(old[at], old[at + 1], Kmers.hash(old[at], old[at + 1]));
        System.arraycopy(old, at, words, to, ENTRY);
      }
    }
  }
}
