/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.slow;

import io.lci.am.MessageView;
import io.lci.am.PayloadWriter;
import java.util.BitSet;

/**
 * A set of numbered payloads on its way: writes them, and checks that each number comes once,
 * whole. A payload is longs made of its number, so that a wrong or a torn one is noticed.
 */
final class Numbered {
  /** Bytes of a payload. */
  static final int BYTES = 1024;

  private static final int LONGS = BYTES / Long.BYTES;
  private static final long MIX = 0x9E37_79B9_7F4A_7C15L;

  private final int count;
  private final BitSet seen;
  private final long[] words = new long[LONGS];
  private long taken;
  private long sum;

  Numbered(int count) {
    this.count = count;
    this.seen = new BitSet(count);
  }

  /** Writes payload {@code number} into {@code out}, with {@code scratch} of {@link #scratch()}. */
  static void write(int number, long[] scratch, PayloadWriter out) {
    for (int i = 0; i < LONGS; i++) {
      scratch[i] = word(number, i);
    }
    out.tag(number).putLongs(scratch, 0, LONGS);
  }

  /** Returns memory for {@link #write}. */
  static long[] scratch() {
    return new long[LONGS];
  }

  /** Reads the number and adds all words to the checksum; an exception says what is wrong. */
  int take(MessageView message) {
    long number = message.tag();
    if (message.size() != BYTES || number < 0 || number >= count) {
      throw new IllegalStateException(
          "a message of " + message.size() + " bytes, number " + number + " of " + count);
    }
    message.getLongs(0, words, 0, LONGS);
    for (int i = 0; i < LONGS; i++) {
      if (words[i] != word((int) number, i)) {
        throw new IllegalStateException("message " + number + " is damaged at word " + i);
      }
      sum += words[i];
    }
    if (seen.get((int) number)) {
      throw new IllegalStateException("message " + number + " came twice");
    }
    seen.set((int) number);
    taken++;
    return (int) number;
  }

  long taken() {
    return taken;
  }

  boolean isComplete() {
    return taken == count;
  }

  /** Throws unless every number came and the checksum is that of all payloads. */
  void check() {
    long expected = 0;
    for (int number = 0; number < count; number++) {
      for (int i = 0; i < LONGS; i++) {
        expected += word(number, i);
      }
    }
    if (seen.cardinality() != count || sum != expected) {
      throw new IllegalStateException(
          seen.cardinality() + " of " + count + " numbers, checksum " + sum + ", not " + expected);
    }
  }

  static long word(int number, int index) {
    return (number + 1L) * MIX + index;
  }
}
