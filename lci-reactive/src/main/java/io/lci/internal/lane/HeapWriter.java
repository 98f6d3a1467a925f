/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.lane;

import io.lci.am.PayloadWriter;
import java.nio.BufferOverflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Objects;

/** Writes an item into an array of its own, up to a limit. */
public final class HeapWriter implements PayloadWriter {
  private static final int LEAST = 64;

  /** The limit; an encoder may overflow buffers of its own as well. */
  public static final class Full extends BufferOverflowException {
    private static final long serialVersionUID = 1;
  }

  private final int most;
  private ByteBuffer buffer;

  /**
   * @param hint expected size, or negative
   * @param most largest size; beyond it writing throws {@link Full}
   */
  public HeapWriter(int hint, int most) {
    this.most = most;
    this.buffer = allocate(Math.min(most, hint < 0 ? LEAST : hint));
  }

  private static ByteBuffer allocate(int bytes) {
    return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  private ByteBuffer room(long bytes) {
    if (bytes > buffer.remaining()) {
      long needed = buffer.position() + bytes;
      if (needed > most) {
        throw new Full();
      }
      long grown = Math.max(LEAST, Math.max(needed, 2L * buffer.capacity()));
      ByteBuffer larger = allocate((int) Math.min(most, grown));
      larger.put(buffer.flip());
      buffer = larger;
    }
    return buffer;
  }

  public byte[] toByteArray() {
    byte[] all = buffer.array();
    return all.length == buffer.position() ? all : Arrays.copyOf(all, buffer.position());
  }

  /** An item has no tag of its own: it is a part of a message, or of several. */
  @Override
  public PayloadWriter tag(long value) {
    throw new UnsupportedOperationException(
        "only messages have a tag: items of streams, of RPC and of groups have none");
  }

  @Override
  public PayloadWriter putByte(int value) {
    room(1).put((byte) value);
    return this;
  }

  @Override
  public PayloadWriter putShort(int value) {
    room(2).putShort((short) value);
    return this;
  }

  @Override
  public PayloadWriter putInt(int value) {
    room(4).putInt(value);
    return this;
  }

  @Override
  public PayloadWriter putLong(long value) {
    room(8).putLong(value);
    return this;
  }

  @Override
  public PayloadWriter putBytes(byte[] source, int offset, int length) {
    Objects.checkFromIndexSize(offset, length, source.length);
    room(length).put(source, offset, length);
    return this;
  }

  @Override
  public PayloadWriter putBytes(ByteBuffer source) {
    room(source.remaining()).put(source.duplicate());
    return this;
  }

  @Override
  public PayloadWriter putLongs(long[] source, int offset, int count) {
    Objects.checkFromIndexSize(offset, count, source.length);
    ByteBuffer out = room(8L * count);
    out.asLongBuffer().put(source, offset, count);
    out.position(out.position() + 8 * count);
    return this;
  }

  @Override
  public int size() {
    return buffer.position();
  }
}
