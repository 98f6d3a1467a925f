/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.common;

import io.lci.Codec;
import io.lci.am.MessageView;
import io.lci.am.PayloadWriter;

/**
 * What a rank tells rank 0 of its results: a kind and some words.
 *
 * @param kind one of the constants
 * @param words at least {@code count} words
 * @param count words that count
 */
@SuppressWarnings("ArrayRecordComponent") // large, and never compared
public record ResultMessage(int kind, long[] words, int count) {
  /** As bytes. */
  public static final Codec<ResultMessage> CODEC =
      Codec.of(ResultMessage::encode, ResultMessage::decode);

  /** Pairs: count, number of distinct k-mers. */
  public static final int HISTOGRAM = 1;

  /** Triples: high, low, count. */
  public static final int ENTRIES = 2;

  /** Of each rank once: k-mers that it answers for, peak memory in KiB. */
  public static final int SUMMARY = 3;

  /** Words of a full message; a multiple of two and of three. */
  public static final int MAX_WORDS = 960;

  /** {@return the message that is there once} */
  public static ResultMessage summary(long kmers) {
    long[] words = {kmers, PeakMemory.kib()};
    return new ResultMessage(SUMMARY, words, words.length);
  }

  private static void encode(ResultMessage message, PayloadWriter out) {
    out.putLong(message.kind).putLongs(message.words, 0, message.count);
  }

  private static ResultMessage decode(MessageView view) {
    int count = view.size() / Long.BYTES - 1;
    long[] words = new long[count];
    view.getLongs(Long.BYTES, words, 0, count);
    return new ResultMessage((int) view.getLong(0), words, count);
  }
}
