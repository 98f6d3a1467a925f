/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.am;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Objects;

/**
 * A received message with a payload of its own: garbage-collected, valid for ever, safe with every
 * operator.
 *
 * @since 0.1
 */
public final class Message implements MessageView {
  private static final VarHandle SHORTS = littleEndian(short[].class);
  private static final VarHandle INTS = littleEndian(int[].class);
  private static final VarHandle LONGS = littleEndian(long[].class);

  private final int rank;
  private final long tag;
  private final byte[] payload;

  /**
   * Creates a message.
   *
   * @param rank sender
   * @param tag tag
   * @param payload taken over, not copied
   */
  public Message(int rank, long tag, byte[] payload) {
    this.rank = rank;
    this.tag = tag;
    this.payload = Objects.requireNonNull(payload, "payload");
  }

  @Override
  public int rank() {
    return rank;
  }

  @Override
  public long tag() {
    return tag;
  }

  @Override
  public int size() {
    return payload.length;
  }

  @Override
  public byte getByte(int index) {
    return payload[index];
  }

  @Override
  public short getShort(int index) {
    return (short)
        SHORTS.get(payload, Objects.checkFromIndexSize(index, Short.BYTES, payload.length));
  }

  @Override
  public int getInt(int index) {
    return (int)
        INTS.get(payload, Objects.checkFromIndexSize(index, Integer.BYTES, payload.length));
  }

  @Override
  public long getLong(int index) {
    return (long) LONGS.get(payload, Objects.checkFromIndexSize(index, Long.BYTES, payload.length));
  }

  @Override
  public void getBytes(int index, byte[] target, int offset, int length) {
    Objects.checkFromIndexSize(index, length, payload.length);
    System.arraycopy(payload, index, target, offset, length);
  }

  @Override
  public void getLongs(int index, long[] target, int offset, int count) {
    Objects.checkFromIndexSize((long) index, 8L * count, (long) payload.length);
    ByteBuffer.wrap(payload)
        .order(ByteOrder.LITTLE_ENDIAN)
        .position(index)
        .asLongBuffer()
        .get(target, offset, count);
  }

  @Override
  public void copyTo(ByteBuffer target) {
    target.put(payload);
  }

  /** Returns this. */
  @Override
  public Message copy() {
    return this;
  }

  @Override
  public String toString() {
    return "Message[rank=" + rank + ", tag=" + tag + ", size=" + payload.length + ']';
  }

  private static VarHandle littleEndian(Class<?> arrayType) {
    return MethodHandles.byteArrayViewVarHandle(arrayType, ByteOrder.LITTLE_ENDIAN);
  }
}
