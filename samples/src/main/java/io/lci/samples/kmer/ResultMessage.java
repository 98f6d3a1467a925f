/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer;

import io.lci.am.MessageView;
import io.lci.am.PayloadWriter;

/**
 * What a rank tells rank 0 after the passes: a kind and some words.
 *
 * @param rank who said it
 * @param kind one of the constants
 * @param words at least {@code count} words
 * @param count words that count
 */
@SuppressWarnings("ArrayRecordComponent") // large, and never compared
record ResultMessage(int rank, int kind, long[] words, int count) {
  /** Pairs: count, number of distinct k-mers. */
  static final int HISTOGRAM = 1;

  /** Triples: high, low, count. */
  static final int ENTRIES = 2;

  /** Last of a rank: messages sent before it, k-mers received, peak memory in KiB. */
  static final int END = 3;

  /** Words of a full message; a multiple of two and of three. */
  static final int MAX_WORDS = 960;

  static void encode(ResultMessage message, PayloadWriter out) {
    out.putLong(message.kind).putLongs(message.words, 0, message.count);
  }

  static ResultMessage decode(MessageView view) {
    int count = view.size() / Long.BYTES - 1;
    long[] words = new long[count];
    view.getLongs(Long.BYTES, words, 0, count);
    return new ResultMessage(view.rank(), (int) view.getLong(0), words, count);
  }
}
