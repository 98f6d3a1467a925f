/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.lane;

import io.lci.Op;
import io.lci.am.Payload;
import io.lci.am.PayloadWriter;
import io.lci.rma.BufferList;
import io.lci.rma.LciBuffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/** A buffer of the user: operations refer to its memory, which lives as long as they do. */
public final class UserBuffer implements LciBuffer {
  private final Object owner;
  private final PooledBuffer memory;
  private final int size;

  /**
   * @param owner stands for the runtime: a buffer must not keep a closed one from the collector
   */
  public UserBuffer(Object owner, int bytes) {
    this(owner, bytes, new PooledBuffer(Math.max(1, checked(bytes)), false));
  }

  /**
   * @param memory where its bytes lie, and perhaps more
   */
  public UserBuffer(Object owner, int bytes, PooledBuffer memory) {
    this.owner = owner;
    this.size = bytes;
    this.memory = memory;
  }

  /** The size of a buffer, if it can be one. */
  public static int checked(int bytes) {
    if (bytes < 0) {
      throw new IllegalArgumentException("a buffer cannot have " + bytes + " bytes");
    }
    return bytes;
  }

  /** Throws if the operation would use memory of another runtime than that of {@code owner}. */
  public static void check(Op op, Object owner) {
    LciBuffer buffer = OpParts.buffer(op);
    if (buffer != null) {
      check(buffer, owner);
    }
    check(OpParts.buffers(op), owner);
    Payload payload = OpParts.payload(op);
    if (payload instanceof BufferList list) {
      check(list, owner);
    } else if (payload instanceof UserBuffer user) { // others are copied
      check(user, owner);
    }
  }

  private static void check(@Nullable BufferList list, Object owner) {
    if (list != null) {
      list.parts().forEach(part -> check(part, owner));
    }
  }

  /** The same of a buffer that a call of a group uses. */
  static void check(LciBuffer buffer, Object owner) {
    if (!(buffer instanceof UserBuffer user)) {
      throw new IllegalArgumentException("not a buffer of Memory: " + buffer);
    }
    if (user.owner != owner) {
      throw new IllegalArgumentException("another runtime made " + buffer);
    }
  }

  public PooledBuffer memory() {
    return memory;
  }

  @Override
  public int size() {
    return size;
  }

  @Override
  public ByteBuffer view() {
    return memory.memory.slice(0, size).order(ByteOrder.LITTLE_ENDIAN);
  }

  @Override
  public void writeTo(PayloadWriter out) {
    out.putBytes(view());
  }

  @Override
  public String toString() {
    return "LciBuffer[" + size + " bytes]";
  }
}
