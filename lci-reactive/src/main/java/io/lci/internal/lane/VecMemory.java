/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.lane;

import io.lci.collective.Vec;
import io.lci.nativebridge.NativeMemory;
import io.lci.rma.LciBuffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** The memory behind a {@link Vec}. */
public final class VecMemory {
  /** See {@link #distance}. */
  public static final long ELSEWHERE = Long.MIN_VALUE;

  private VecMemory() {}

  /** Throws if it is memory of another runtime than that of {@code owner}. */
  public static void check(Vec vec, Object owner) {
    if (vec.memory() instanceof LciBuffer buffer) {
      UserBuffer.check(buffer, owner);
    }
  }

  public static boolean isReadOnly(Vec vec) {
    return vec.memory() instanceof ByteBuffer buffer && buffer.isReadOnly();
  }

  /** Whether the core uses it where it lies; else it is copied. */
  static boolean isInPlace(Vec vec) {
    return vec.memory() instanceof UserBuffer;
  }

  /** Of memory that is used in place. */
  static long address(Vec vec) {
    return ((UserBuffer) vec.memory()).memory().address + vec.offset();
  }

  /**
   * Bytes from {@code in}'s first to {@code out}'s first; less than 0 if it lies before. {@link
   * #ELSEWHERE} if they lie in different memory, or nobody can tell.
   */
  public static long distance(Vec in, Vec out) {
    Object base = base(in);
    return base == base(out) ? start(out) - start(in) : ELSEWHERE;
  }

  /** What tells memory apart: native memory is one. */
  private static Object base(Vec vec) {
    Object memory = vec.memory();
    if (memory instanceof ByteBuffer buffer && buffer.hasArray()) {
      return buffer.array();
    }
    return isNative(memory) ? NativeMemory.class : memory;
  }

  private static boolean isNative(Object memory) {
    return memory instanceof UserBuffer || (memory instanceof ByteBuffer b && b.isDirect());
  }

  private static long start(Vec vec) {
    Object memory = vec.memory();
    if (memory instanceof UserBuffer) {
      return address(vec);
    }
    if (memory instanceof ByteBuffer buffer) {
      long first = buffer.isDirect() ? NativeMemory.address(buffer) : heapOffset(buffer);
      return first + vec.offset();
    }
    return vec.offset();
  }

  private static int heapOffset(ByteBuffer buffer) {
    return buffer.hasArray() ? buffer.arrayOffset() : 0;
  }

  /** Copies the elements of memory that is not used in place. */
  static void read(Vec from, ByteBuffer to, int index) {
    Object memory = from.memory();
    int bytes = (int) from.bytes();
    ByteBuffer view = view(to, index, bytes);
    if (memory instanceof ByteBuffer buffer) {
      view.put(0, buffer, index(from, 1), bytes);
    } else if (memory instanceof byte[] array) {
      view.put(array, index(from, 1), bytes);
    } else if (memory instanceof long[] array) {
      view.asLongBuffer().put(array, index(from, Long.BYTES), bytes / Long.BYTES);
    } else if (memory instanceof double[] array) {
      view.asDoubleBuffer().put(array, index(from, Double.BYTES), bytes / Double.BYTES);
    } else if (memory instanceof int[] array) {
      view.asIntBuffer().put(array, index(from, Integer.BYTES), bytes / Integer.BYTES);
    } else {
      float[] array = (float[]) memory;
      view.asFloatBuffer().put(array, index(from, Float.BYTES), bytes / Float.BYTES);
    }
  }

  /** Writes the elements of memory that is not used in place. */
  static void write(ByteBuffer from, int index, Vec to) {
    Object memory = to.memory();
    int bytes = (int) to.bytes();
    ByteBuffer view = view(from, index, bytes);
    if (memory instanceof ByteBuffer buffer) {
      buffer.put(index(to, 1), view, 0, bytes);
    } else if (memory instanceof byte[] array) {
      view.get(array, index(to, 1), bytes);
    } else if (memory instanceof long[] array) {
      view.asLongBuffer().get(array, index(to, Long.BYTES), bytes / Long.BYTES);
    } else if (memory instanceof double[] array) {
      view.asDoubleBuffer().get(array, index(to, Double.BYTES), bytes / Double.BYTES);
    } else if (memory instanceof int[] array) {
      view.asIntBuffer().get(array, index(to, Integer.BYTES), bytes / Integer.BYTES);
    } else {
      float[] array = (float[]) memory;
      view.asFloatBuffer().get(array, index(to, Float.BYTES), bytes / Float.BYTES);
    }
  }

  /** Writes the elements of any memory. */
  public static void put(byte[] bytes, Vec to) {
    if (to.memory() instanceof LciBuffer buffer) {
      buffer.view().put(Math.toIntExact(to.offset()), bytes);
    } else {
      write(ByteBuffer.wrap(bytes), 0, to);
    }
  }

  /** The place of the first element of an array, or byte of a buffer. */
  private static int index(Vec vec, int unit) {
    return Math.toIntExact(vec.offset() / unit);
  }

  private static ByteBuffer view(ByteBuffer memory, int index, int bytes) {
    return memory.slice(index, bytes).order(ByteOrder.LITTLE_ENDIAN);
  }
}
