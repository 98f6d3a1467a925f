/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.slow;

import io.lci.Codec;
import io.lci.am.MessageView;
import io.lci.am.PayloadWriter;

/** How a number travels: with 56 bytes made of it, so that a wrong or a torn item is noticed. */
final class NumberedItem implements Codec<Integer> {
  private static final int LONGS = 8;
  private static final int BYTES = LONGS * Long.BYTES;

  @Override
  public void encode(Integer number, PayloadWriter out) {
    out.putLong(number);
    for (int i = 1; i < LONGS; i++) {
      out.putLong(Numbered.word(number, i));
    }
  }

  @Override
  public int sizeHint(Integer number) {
    return BYTES;
  }

  @Override
  public Integer decode(MessageView in) {
    int number = (int) in.getLong(0);
    if (in.size() != BYTES) {
      throw new IllegalStateException("item " + number + " has " + in.size() + " bytes");
    }
    for (int i = 1; i < LONGS; i++) {
      if (in.getLong(i * Long.BYTES) != Numbered.word(number, i)) {
        throw new IllegalStateException("item " + number + " is damaged at word " + i);
      }
    }
    return number;
  }
}
