/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.am.PayloadWriter;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.Layout;
import io.lci.nativebridge.NativeMemory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Writes one descriptor with its payload: inline up to 192 bytes, then in a packet, then in pooled
 * memory. What was written moves along when it outgrows its place. Loop only; one per loop.
 */
final class PostWriter implements PayloadWriter {
  private static final int SMALL_COPY = 8;

  private final Lane lane;
  private final NativeMemory arena;
  private final Packets packets;
  private final BufferPool pool;
  private final int packetPayload;
  private final int maxEager;

  private int entryOffset;
  private ByteBuffer target;
  private int start;
  private int position;
  private int limit;
  private int form;
  private int packet;
  private @Nullable PooledBuffer buffer;
  private boolean starved;

  /** Fields of the descriptor that the payload does not decide. */
  int op;

  int flags;
  int policy;

  /** Completion object to signal, with {@code FLAG_COMP}. */
  int completionId;

  private long tag;
  private int receiveBytes;

  PostWriter(Lane lane, NativeMemory arena, Packets packets, BufferPool pool, int maxEager) {
    this.lane = lane;
    this.arena = arena;
    this.packets = packets;
    this.pool = pool;
    this.packetPayload = lane.layout.packetPayload();
    this.maxEager = maxEager;
    this.target = lane.memory;
  }

  /**
   * Starts a descriptor at an offset of the lane; a payload of {@code hint} bytes is expected, -1
   * for unknown.
   */
  void begin(int offset, int hint) {
    entryOffset = offset;
    op = Codes.OP_AM;
    flags = 0;
    policy = 0;
    tag = 0;
    receiveBytes = -1;
    buffer = null;
    starved = false;
    form = Codes.FLAG_INLINE;
    target = lane.memory;
    start = offset + Layout.DESCRIPTOR_PAYLOAD;
    position = start;
    limit = start + Layout.INLINE_MAX;
    if (hint > Layout.INLINE_MAX) {
      grow(hint);
    }
  }

  /** The payload needs a packet and there is none: wait, and encode again. */
  boolean isStarved() {
    return starved;
  }

  /** A receive: memory of {@code bytes} instead of a payload. */
  void receiveInto(int bytes) {
    toBuffer(Math.max(1, bytes));
    receiveBytes = bytes;
  }

  int form() {
    return form;
  }

  int packet() {
    return packet;
  }

  @Nullable PooledBuffer buffer() {
    return buffer;
  }

  /** Gives back what the payload occupies. */
  void abandon() {
    if (form == Codes.FLAG_PACKET) {
      packets.give(packet);
    }
    pool.give(buffer);
    buffer = null;
  }

  /**
   * Writes the descriptor.
   *
   * @return entries it occupies
   */
  int finish(Destination destination, long context) {
    int size = receiveBytes >= 0 ? receiveBytes : position - start;
    ByteBuffer memory = lane.memory;
    memory.putLong(
        entryOffset,
        op | (long) (flags | form) << 8 | (long) Codes.RETRY << 16 | (long) destination.rank << 32);
    memory.putLong(
        entryOffset + Layout.DESCRIPTOR_PORT,
        (destination.port & 0xFFFFL) | (long) policy << 24 | (long) size << 32);
    memory.putLong(entryOffset + Layout.DESCRIPTOR_TAG, tag);
    memory.putLong(entryOffset + Layout.DESCRIPTOR_CONTEXT, context);
    if (form == Codes.FLAG_INLINE) {
      return size <= 32
          ? 1
          : 1 + ((size - 32 + Layout.DESCRIPTOR_SIZE - 1) / Layout.DESCRIPTOR_SIZE);
    }
    long address =
        form == Codes.FLAG_PACKET ? packet & 0xFFFF_FFFFL : Objects.requireNonNull(buffer).address;
    memory.putLong(entryOffset + Layout.DESCRIPTOR_PAYLOAD, address);
    return 1;
  }

  // PayloadWriter

  @Override
  public PayloadWriter tag(long value) {
    tag = value;
    return this;
  }

  @Override
  public PayloadWriter putByte(int value) {
    reserve(Byte.BYTES);
    target.put(position, (byte) value);
    position += Byte.BYTES;
    return this;
  }

  @Override
  public PayloadWriter putShort(int value) {
    reserve(Short.BYTES);
    target.putShort(position, (short) value);
    position += Short.BYTES;
    return this;
  }

  @Override
  public PayloadWriter putInt(int value) {
    reserve(Integer.BYTES);
    target.putInt(position, value);
    position += Integer.BYTES;
    return this;
  }

  @Override
  public PayloadWriter putLong(long value) {
    reserve(Long.BYTES);
    target.putLong(position, value);
    position += Long.BYTES;
    return this;
  }

  @Override
  public PayloadWriter putBytes(byte[] source, int offset, int length) {
    Objects.checkFromIndexSize(offset, length, source.length);
    reserve(length);
    target.put(position, source, offset, length);
    position += length;
    return this;
  }

  @Override
  public PayloadWriter putBytes(ByteBuffer source) {
    int length = source.remaining();
    reserve(length);
    target.put(position, source, source.position(), length);
    position += length;
    return this;
  }

  @Override
  public PayloadWriter putLongs(long[] source, int offset, int count) {
    Objects.checkFromIndexSize(offset, count, source.length);
    int length = Math.multiplyExact(count, Long.BYTES);
    reserve(length);
    if (count <= SMALL_COPY) {
      for (int i = 0; i < count; i++) {
        target.putLong(position + i * Long.BYTES, source[offset + i]);
      }
    } else {
      target
          .duplicate()
          .order(ByteOrder.LITTLE_ENDIAN)
          .position(position)
          .asLongBuffer()
          .put(source, offset, count);
    }
    position += length;
    return this;
  }

  @Override
  public int size() {
    return position - start;
  }

  private void reserve(int bytes) {
    if (bytes > limit - position) {
      grow(Math.addExact(position - start, bytes));
    }
  }

  private void grow(int bytes) {
    if (form == Codes.FLAG_INLINE && bytes <= maxEager) {
      toPacket(bytes);
    } else {
      // Doubling, so that a payload written in small pieces is not copied at each of them.
      long wanted = form == Codes.FLAG_BUFFER ? Math.max(bytes, 2L * (limit - start)) : bytes;
      toBuffer((int) Math.min(wanted, Integer.MAX_VALUE - 64));
    }
  }

  private void toPacket(int bytes) {
    packet = packets.take();
    if (packet == Packets.NONE) {
      starved = true;
      toBuffer(Math.max(bytes, maxEager));
      return;
    }
    long offset = (packet & 0xFFFF_FFFFL) * Layout.PACKET_UNIT + packetPayload;
    moveTo(arena.window(offset), NativeMemory.indexInWindow(offset), maxEager);
    form = Codes.FLAG_PACKET;
  }

  private void toBuffer(int bytes) {
    PooledBuffer larger = pool.take(bytes);
    moveTo(larger.memory, 0, larger.memory.capacity());
    abandon();
    buffer = larger;
    form = Codes.FLAG_BUFFER;
  }

  private void moveTo(ByteBuffer place, int index, int capacity) {
    int size = position - start;
    if (size > 0) {
      place.put(index, target, start, size);
    }
    target = place;
    start = index;
    position = index + size;
    limit = index + capacity;
  }
}
