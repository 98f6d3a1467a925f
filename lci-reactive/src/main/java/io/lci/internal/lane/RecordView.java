/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.lane;

import io.lci.am.MessageView;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** The flyweight over a message's memory: one per loop, moved from message to message. */
public final class RecordView implements MessageView {
  private static final ByteBuffer NOTHING = ByteBuffer.allocate(0).order(ByteOrder.LITTLE_ENDIAN);

  /** Size of a view that ended: fails every check of bounds, so that an access costs no other. */
  private static final int ENDED = -1;

  private ByteBuffer memory = NOTHING;
  private int base;
  private int size = ENDED;
  private int rank;
  private long tag;

  public void moveTo(ByteBuffer newMemory, int newBase, int newSize, int newRank, long newTag) {
    if (memory != newMemory) { // as in PostWriter
      memory = newMemory;
    }
    base = newBase;
    size = newSize;
    rank = newRank;
    tag = newTag;
  }

  /** A view of the same message that does not move on. */
  public RecordView another() {
    RecordView same = new RecordView();
    same.moveTo(memory, base, size, rank, tag);
    return same;
  }

  /** From now on every access fails: whoever kept the view finds out. */
  public void invalidate() {
    size = ENDED;
  }

  /** What to tell whoever uses a view outside the call that got it. */
  public static IllegalStateException ended() {
    return new IllegalStateException(
        "this view ended when the decoder returned; decode inside receive(...), or take copies by"
            + " receive() or copy()");
  }

  @Override
  public int rank() {
    checkAlive();
    return rank;
  }

  @Override
  public long tag() {
    checkAlive();
    return tag;
  }

  @Override
  public int size() {
    checkAlive();
    return size;
  }

  @Override
  public byte getByte(int index) {
    return memory.get(base + check(index, Byte.BYTES));
  }

  @Override
  public short getShort(int index) {
    return memory.getShort(base + check(index, Short.BYTES));
  }

  @Override
  public int getInt(int index) {
    return memory.getInt(base + check(index, Integer.BYTES));
  }

  @Override
  public long getLong(int index) {
    return memory.getLong(base + check(index, Long.BYTES));
  }

  @Override
  public void getBytes(int index, byte[] target, int offset, int length) {
    memory.get(base + check(index, length), target, offset, length);
  }

  @Override
  public void getLongs(int index, long[] target, int offset, int count) {
    int from = base + check(index, Math.multiplyExact(count, Long.BYTES));
    memory
        .duplicate()
        .order(ByteOrder.LITTLE_ENDIAN)
        .position(from)
        .asLongBuffer()
        .get(target, offset, count);
  }

  @Override
  public void copyTo(ByteBuffer target) {
    target.put(memory.slice(base, size()));
  }

  private int check(int index, int length) {
    if (index < 0 || length < 0 || length > size - index) {
      throw refusal(index, length);
    }
    return index;
  }

  private RuntimeException refusal(int index, int length) {
    if (size == ENDED) {
      return ended();
    }
    return new IndexOutOfBoundsException(
        length + " bytes from index " + index + " are out of bounds for length " + size);
  }

  private void checkAlive() {
    if (size == ENDED) {
      throw ended();
    }
  }
}
