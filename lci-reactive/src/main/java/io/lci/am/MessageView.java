/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.am;

import java.nio.ByteBuffer;

/**
 * A received message where it lies. It is valid only inside the call that got it, on that thread.
 * Afterwards every access throws {@link IllegalStateException}, or reads another message while that
 * one is being decoded. Copy the values that you need, or call {@link #copy()}.
 *
 * <p>Payloads are little-endian, without alignment. Every access is checked against {@link #size()}
 * and throws {@link IndexOutOfBoundsException}.
 *
 * @since 0.1
 */
public interface MessageView {
  /** {@return the sender's rank} */
  int rank();

  /** {@return the tag, all 64 bits as sent; 0 if the sender set none} */
  long tag();

  /** {@return the payload's size in bytes} */
  int size();

  /**
   * Reads one byte.
   *
   * @param index offset in bytes
   * @return the value
   */
  byte getByte(int index);

  /**
   * Reads two bytes.
   *
   * @param index offset in bytes
   * @return the value
   */
  short getShort(int index);

  /**
   * Reads four bytes.
   *
   * @param index offset in bytes
   * @return the value
   */
  int getInt(int index);

  /**
   * Reads eight bytes.
   *
   * @param index offset in bytes
   * @return the value
   */
  long getLong(int index);

  /**
   * Reads a double.
   *
   * @param index offset in bytes
   * @return the value
   */
  default double getDouble(int index) {
    return Double.longBitsToDouble(getLong(index));
  }

  /**
   * Copies bytes out.
   *
   * @param index offset in the payload
   * @param target where to
   * @param offset first element of {@code target}
   * @param length bytes
   */
  void getBytes(int index, byte[] target, int offset, int length);

  /**
   * Copies longs out.
   *
   * @param index offset in the payload, in bytes
   * @param target where to
   * @param offset first element of {@code target}
   * @param count longs, eight bytes each
   */
  void getLongs(int index, long[] target, int offset, int count);

  /**
   * Copies the whole payload.
   *
   * @param target gets {@link #size()} bytes; its position moves
   */
  void copyTo(ByteBuffer target);

  /** {@return a copy of the payload} */
  default byte[] toByteArray() {
    byte[] bytes = new byte[size()];
    getBytes(0, bytes, 0, bytes.length);
    return bytes;
  }

  /** {@return the payload as UTF-8 text} */
  default String utf8() {
    return new String(toByteArray(), java.nio.charset.StandardCharsets.UTF_8);
  }

  /** {@return a message of its own that stays valid} */
  default Message copy() {
    return new Message(rank(), tag(), toByteArray());
  }
}
