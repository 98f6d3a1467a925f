/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.lane;

import io.lci.am.PayloadWriter;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.Layout;
import io.lci.nativebridge.NativeMemory;
import io.lci.rma.LciBuffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Writes one descriptor with its payload: inline up to 192 bytes, then in a packet, then in pooled
 * memory. What was written moves along when it outgrows its place. Loop only; one per loop.
 */
public final class PostWriter implements PayloadWriter {
  private static final int SMALL_COPY = 8;
  private static final int NO_NODE = -1;

  private final ByteBuffer entries;
  private final NativeMemory arena;
  private final @Nullable Packets packets;
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
  public int op;

  public int flags;
  public int policy;

  /** Completion object to signal, with {@code FLAG_COMP}, and the program's number for it. */
  public int completionId;

  public int userContext;

  /** What the loop tells of the operation's end, if it may be full. */
  public @Nullable PlaceTarget relayedTo;

  private long tag;
  private int receiveBytes;

  /** Bytes of the longest message of a receive, if that is more than its memory; else 0. */
  private int longest;

  private boolean toRemote;
  private long remote;
  private long displacement;
  private int parts;
  private long operand;
  private long expected;
  private int collective;
  private int root;
  private int nodeAnswered;
  private long answerContext;

  private PostWriter(
      ByteBuffer entries,
      Layout layout,
      NativeMemory arena,
      @Nullable Packets packets,
      BufferPool pool,
      int maxEager) {
    this.entries = entries;
    this.arena = arena;
    this.packets = packets;
    this.pool = pool;
    this.packetPayload = layout.packetPayload();
    this.maxEager = maxEager;
    this.target = entries;
  }

  /** Writes into the submission array of a lane. */
  public static PostWriter ofLane(
      Lane lane, NativeMemory arena, Packets packets, BufferPool pool, int maxEager) {
    return new PostWriter(lane.memory, lane.layout, arena, packets, pool, maxEager);
  }

  /** Writes into a table that is posted again and again: nothing goes into packets. */
  public static PostWriter ofTable(
      ByteBuffer entries, Layout layout, NativeMemory arena, BufferPool pool) {
    return new PostWriter(entries, layout, arena, null, pool, 0);
  }

  /**
   * Starts a descriptor at an offset of the lane; a payload of {@code hint} bytes is expected, -1
   * for unknown.
   */
  public void begin(int offset, int hint) {
    entryOffset = offset;
    op = Codes.OP_AM;
    flags = 0;
    policy = 0;
    tag = 0;
    receiveBytes = -1;
    longest = 0;
    toRemote = false;
    parts = 0;
    nodeAnswered = NO_NODE;
    relayedTo = null;
    buffer = null;
    starved = false;
    form = Codes.FLAG_INLINE;
    if (target != entries) { // to write a reference may cost a fence
      target = entries;
    }
    start = offset + Layout.DESCRIPTOR_PAYLOAD;
    position = start;
    limit = start + Layout.INLINE_MAX;
    expect(hint);
  }

  /** A payload of {@code hint} bytes is expected, -1 for unknown; before anything is written. */
  public void expect(int hint) {
    if (hint > Layout.INLINE_MAX) {
      grow(hint);
    }
  }

  /** The payload needs a packet and there is none: wait, and encode again. */
  public boolean isStarved() {
    return starved;
  }

  /** A receive: memory of {@code bytes} instead of a payload. */
  public void receiveInto(int bytes) {
    toBuffer(Math.max(1, bytes));
    receiveBytes = bytes;
  }

  /**
   * A receive of a message of up to {@code most} bytes. The core takes memory for one that does not
   * fit into a packet, when it comes.
   */
  public void receiveUpTo(int most) {
    boolean takesMemory = maxEager > 0 && most > maxEager;
    receiveInto(takesMemory ? maxEager : most);
    longest = takesMemory ? most : 0;
  }

  /** A get: the caller's memory instead of a payload. */
  public void receiveInto(PooledBuffer memory, int bytes) {
    refer(memory, 0);
    receiveBytes = bytes;
  }

  /**
   * Whether a buffer of so many bytes is read where it lies: a short one is copied, unless it is
   * posted again and again with what it has by then.
   */
  public boolean refersTo(int bytes) {
    return bytes > Layout.INLINE_MAX || (packets == null && bytes > 0);
  }

  /** A payload that stays where it is. */
  public void refer(PooledBuffer memory, int bytes) {
    moveTo(memory.memory, 0, memory.memory.capacity());
    abandon();
    buffer = memory;
    form = Codes.FLAG_BUFFER;
    position = bytes;
  }

  /** Buffers that stay where they are, one after the other; perhaps each with a place. */
  public void refer(List<LciBuffer> list, boolean withPlaces) {
    int bytes = list.size() * Layout.BUFFER_SIZE;
    toBuffer(bytes + (withPlaces ? list.size() * Layout.PLACE_SIZE : 0));
    PooledBuffer table = Objects.requireNonNull(buffer);
    table.referred = list;
    int entry = 0;
    for (LciBuffer part : list) {
      table.memory.putLong(entry + Layout.BUFFER_ADDRESS, ((UserBuffer) part).memory().address);
      table.memory.putLong(entry + Layout.BUFFER_SIZE_FIELD, part.size());
      entry += Layout.BUFFER_SIZE;
    }
    flags |= Codes.FLAG_LIST;
    parts = list.size();
    if (withPlaces) {
      toRemote = true;
      remote = table.address + bytes;
      displacement = 0;
    }
  }

  /** Where in remote memory a part lies. */
  public void place(int index, long id, long offset) {
    int entry = parts * Layout.BUFFER_SIZE + index * Layout.PLACE_SIZE;
    ByteBuffer table = Objects.requireNonNull(buffer).memory;
    table.putLong(entry + Layout.PLACE_REMOTE, id);
    table.putLong(entry + Layout.PLACE_DISPLACEMENT, offset);
  }

  /** The key of a matched operation: it needs a place that inline payloads have not. */
  public void key(long value) {
    toRemote = true;
    remote = value;
    displacement = 0;
    if (form == Codes.FLAG_INLINE) {
      grow(Math.max(1, position - start));
    }
  }

  /** The answer of a host node, or the start of a graph. */
  public void answer(int node, long context) {
    nodeAnswered = node;
    answerContext = context;
  }

  /** The number of the run that starts, where the program gives it. */
  public void runNumber(long value) {
    tag = value;
    receiveBytes = 1;
  }

  /** Sets the size field of what has no payload. */
  void sizeField(int value) {
    receiveBytes = value;
  }

  /** Whether the core may answer with posted and signal later. */
  public boolean mayBePosted() {
    return form == Codes.FLAG_BUFFER
        || (flags & (Codes.FLAG_SIGNAL | Codes.FLAG_NETWORK)) != 0
        || op == Codes.OP_PUT
        || op == Codes.OP_GET
        || op == Codes.OP_ATOMIC;
  }

  /** A put or get: before its payload is written. */
  public void remote(long id, long offset) {
    toRemote = true;
    remote = id;
    displacement = offset;
    if (form == Codes.FLAG_INLINE) {
      start = entryOffset + Layout.DESCRIPTOR_PUT_PAYLOAD;
      position = start;
      limit = start + Layout.INLINE_MAX;
    }
  }

  /** An atomic operation, instead of a payload: after its place. */
  public void atomic(int operation, long value, long expectedValue) {
    op = Codes.OP_ATOMIC;
    policy = operation;
    operand = value;
    expected = expectedValue;
    receiveBytes = Long.BYTES;
  }

  /** A call of a group, instead of a payload: what it is. */
  public void collective(CollectiveKind kind, int ofRoot, int typeAndAlgorithm) {
    op = Codes.OP_COLLECTIVE;
    collective = kind.number;
    root = ofRoot;
    receiveBytes = typeAndAlgorithm;
  }

  /** Where its data lies. */
  void collectiveData(long in, long out, long count, long counts) {
    entries.putLong(entryOffset + Layout.DESCRIPTOR_COLLECTIVE_IN, in);
    entries.putLong(entryOffset + Layout.DESCRIPTOR_COLLECTIVE_OUT, out);
    entries.putLong(entryOffset + Layout.DESCRIPTOR_COLLECTIVE_COUNT, count);
    entries.putLong(entryOffset + Layout.DESCRIPTOR_COLLECTIVE_COUNTS, counts);
  }

  /** Memory beside the descriptor, until the operation has ended; it keeps an object alive. */
  PooledBuffer beside(int bytes, Object referred) {
    PooledBuffer memory = pool.take(bytes);
    memory.referred = referred;
    buffer = memory;
    return memory;
  }

  public int form() {
    return form;
  }

  public int packet() {
    return packet;
  }

  public @Nullable PooledBuffer buffer() {
    return buffer;
  }

  /** Gives back what the payload occupies. */
  public void abandon() {
    if (form == Codes.FLAG_PACKET) {
      Objects.requireNonNull(packets).give(packet);
    }
    pool.give(buffer);
    buffer = null;
  }

  /**
   * Writes the descriptor.
   *
   * @param toRank not used where a node answers
   * @param device index in the lane
   * @return entries it occupies
   */
  public int finish(int toRank, int port, int device, long context) {
    if (op == Codes.OP_COLLECTIVE) {
      words(root, collective, device, receiveBytes, context);
      return 1;
    }
    int size = receiveBytes >= 0 ? receiveBytes : position - start;
    int rank = nodeAnswered == NO_NODE ? toRank : nodeAnswered;
    words(rank, port, device, size, nodeAnswered == NO_NODE ? context : answerContext);
    if (toRemote) {
      entries.putLong(entryOffset + Layout.DESCRIPTOR_REMOTE, remote);
      entries.putLong(entryOffset + Layout.DESCRIPTOR_DISPLACEMENT, displacement);
    }
    if (toRemote || parts > 0 || op == Codes.OP_RECV) {
      entries.putLong(entryOffset + Layout.DESCRIPTOR_COUNT, parts > 0 ? parts : longest);
    }
    if (op == Codes.OP_ATOMIC) {
      entries.putLong(entryOffset + Layout.DESCRIPTOR_OPERAND, operand);
      entries.putLong(entryOffset + Layout.DESCRIPTOR_EXPECTED, expected);
      return 1;
    }
    if (form == Codes.FLAG_INLINE) {
      int beyond = size - (toRemote ? 0 : 32);
      return beyond <= 0 ? 1 : 1 + (beyond + Layout.DESCRIPTOR_SIZE - 1) / Layout.DESCRIPTOR_SIZE;
    }
    long address =
        form == Codes.FLAG_PACKET ? packet & 0xFFFF_FFFFL : Objects.requireNonNull(buffer).address;
    entries.putLong(entryOffset + Layout.DESCRIPTOR_PAYLOAD, address);
    return 1;
  }

  /** What every descriptor has. */
  private void words(int rank, int port, int device, int size, long context) {
    entries.putLong(
        entryOffset,
        op | (long) (flags | form) << 8 | (long) Codes.RETRY << 16 | (long) rank << 32);
    entries.putLong(
        entryOffset + Layout.DESCRIPTOR_PORT,
        (port & 0xFFFFL) | (long) device << 16 | (long) policy << 24 | (long) size << 32);
    entries.putLong(entryOffset + Layout.DESCRIPTOR_TAG, tag);
    entries.putLong(entryOffset + Layout.DESCRIPTOR_CONTEXT, context);
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
    packet = Objects.requireNonNull(packets).take();
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
