/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.am;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * The writer of an {@link Encoder} or {@link Payload}. Short payloads go straight into the
 * submission array, longer ones into a packet, and those beyond a packet into memory of the
 * operation. Little-endian, append only, valid only during the call.
 *
 * @since 0.1
 */
public interface PayloadWriter {
  /**
   * Sets the tag of the message; 0 unless set.
   *
   * @param value all 64 bits for a message to a port
   * @return this
   */
  PayloadWriter tag(long value);

  /**
   * Appends one byte.
   *
   * @param value the low 8 bits
   * @return this
   */
  PayloadWriter putByte(int value);

  /**
   * Appends two bytes.
   *
   * @param value the low 16 bits
   * @return this
   */
  PayloadWriter putShort(int value);

  /**
   * Appends four bytes.
   *
   * @param value the value
   * @return this
   */
  PayloadWriter putInt(int value);

  /**
   * Appends eight bytes.
   *
   * @param value the value
   * @return this
   */
  PayloadWriter putLong(long value);

  /**
   * Appends a double.
   *
   * @param value the value
   * @return this
   */
  default PayloadWriter putDouble(double value) {
    return putLong(Double.doubleToRawLongBits(value));
  }

  /**
   * Appends bytes.
   *
   * @param source where from
   * @param offset first element
   * @param length bytes
   * @return this
   */
  PayloadWriter putBytes(byte[] source, int offset, int length);

  /**
   * Appends a whole array.
   *
   * @param source where from
   * @return this
   */
  default PayloadWriter putBytes(byte[] source) {
    return putBytes(source, 0, source.length);
  }

  /**
   * Appends the remaining bytes of a buffer, whose position does not move.
   *
   * @param source where from
   * @return this
   */
  PayloadWriter putBytes(ByteBuffer source);

  /**
   * Appends longs, eight bytes each.
   *
   * @param source where from
   * @param offset first element
   * @param count longs
   * @return this
   */
  PayloadWriter putLongs(long[] source, int offset, int count);

  /**
   * Appends text as UTF-8, without its length: the counterpart of {@link MessageView#utf8()}. A
   * surrogate without its other half becomes a question mark.
   *
   * @param text the text
   * @return this
   */
  default PayloadWriter putUtf8(CharSequence text) {
    return putBytes(text.toString().getBytes(StandardCharsets.UTF_8));
  }

  /** {@return how many bytes were written} */
  int size();
}
