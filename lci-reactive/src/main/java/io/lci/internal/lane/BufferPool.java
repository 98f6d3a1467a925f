/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.lane;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * Reuses memory of operations, by powers of two. Keeps at most {@value #KEPT_BYTES} bytes. Loop
 * only.
 */
public final class BufferPool {
  private static final int SMALLEST = 10;
  private static final long KEPT_BYTES = 32L << 20;

  private final ArrayDeque<PooledBuffer>[] classes;
  private long kept;

  /** Where new memory comes from; a test may have less. */
  public IntFunction<ByteBuffer> allocation = ByteBuffer::allocateDirect;

  @SuppressWarnings({
    "unchecked",
    "rawtypes"
  }) // an array of a generic type cannot be made otherwise
  public BufferPool() {
    classes = new ArrayDeque[32];
    for (int i = 0; i < classes.length; i++) {
      classes[i] = new ArrayDeque<>(0);
    }
  }

  public PooledBuffer take(int bytes) {
    int index = classOf(bytes);
    PooledBuffer found = classes[index].pollLast();
    if (found == null) {
      return new PooledBuffer(index == 31 ? bytes : 1 << index, true, allocation);
    }
    kept -= found.memory.capacity();
    return found;
  }

  public void give(@Nullable PooledBuffer buffer) {
    if (buffer == null || !buffer.pooled) {
      return;
    }
    buffer.referred = null;
    int bytes = buffer.memory.capacity();
    if (Integer.bitCount(bytes) == 1 && kept + bytes <= KEPT_BYTES) {
      classes[classOf(bytes)].addLast(buffer);
      kept += bytes;
    }
  }

  private static int classOf(int bytes) {
    return Math.max(SMALLEST, 32 - Integer.numberOfLeadingZeros(Math.max(1, bytes) - 1));
  }
}
