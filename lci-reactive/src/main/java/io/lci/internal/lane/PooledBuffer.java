/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.lane;

import io.lci.nativebridge.NativeMemory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/** Memory of an operation beyond a packet; owned by a slot from the post to the native signal. */
public final class PooledBuffer {
  public final ByteBuffer memory;
  final long address;

  /** Whether it goes back to the pool; else it is the user's. */
  final boolean pooled;

  /** What the memory points at, and must live as long. */
  @Nullable Object referred;

  PooledBuffer(int bytes, boolean pooled) {
    this(bytes, pooled, ByteBuffer::allocateDirect);
  }

  PooledBuffer(int bytes, boolean pooled, IntFunction<ByteBuffer> allocate) {
    this.pooled = pooled;
    memory = direct(bytes, allocate).order(ByteOrder.LITTLE_ENDIAN);
    address = NativeMemory.address(memory);
  }

  private PooledBuffer(NativeMemory foreign) {
    this.pooled = false;
    memory = foreign.buffer();
    address = foreign.address();
  }

  /** Memory of the core, which the caller frees. */
  public static PooledBuffer ofCore(long address, int bytes) {
    return new PooledBuffer(NativeMemory.wrap(address, bytes));
  }

  /** Too little direct memory for one operation is no reason to end the loop, as an Error would. */
  public static ByteBuffer direct(int bytes, IntFunction<ByteBuffer> allocate) {
    try {
      return allocate.apply(bytes);
    } catch (OutOfMemoryError e) {
      throw new NoMemory(bytes, e);
    }
  }

  /** The same of the heap. */
  public static byte[] heap(int bytes) {
    try {
      return new byte[bytes];
    } catch (OutOfMemoryError e) {
      throw new NoMemory("no heap for a message of " + bytes + " bytes; raise -Xmx", e);
    }
  }

  /** There is no memory for an operation. */
  public static final class NoMemory extends IllegalStateException {
    private static final long serialVersionUID = 1;

    NoMemory(String message, OutOfMemoryError cause) {
      super(message, cause);
    }

    NoMemory(int bytes, OutOfMemoryError cause) {
      super("no direct memory for " + bytes + " bytes; raise -XX:MaxDirectMemorySize", cause);
    }
  }
}
