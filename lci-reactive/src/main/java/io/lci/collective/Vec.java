/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import io.lci.rma.LciBuffer;
import java.nio.ByteBuffer;
import java.util.Objects;

/**
 * Elements of one type that lie one after the other in memory of the program: what a member brings
 * to a call of {@link Collectives}, or where its result goes. It holds a reference to the memory,
 * and no copy.
 *
 * <p><b>An {@link LciBuffer}</b> is used in place, from the first request until the call has ended
 * natively, also after a cancel: what a call reads must not change, and what it writes must not be
 * read meanwhile. {@code LciBuffer}s of another runtime are refused.
 *
 * <p><b>An array, or another {@link ByteBuffer}</b>, heap or direct, is copied when the call is
 * posted, which is at the first request or, if the call has to wait for another member, later. It
 * must not change until the call has ended. The result is written on the loop just before the call
 * completes; after an error or a cancel that the loop has heard of it is not written. One call
 * copies up to 2 GiB.
 *
 * <p>In memory that has bytes elements are little-endian, whatever the order of the buffer; an
 * array has its own. Elements need no alignment: {@code Vec.bytes(buffer, 3, 80).as(DataType.F64)}
 * are ten doubles from byte 3 on.
 *
 * @since 0.1
 */
public final class Vec {
  private final DataType type;
  private final Object memory;
  private final long offset;
  private final long count;

  private Vec(DataType type, Object memory, long offset, long count) {
    this.type = type;
    this.memory = memory;
    this.offset = offset;
    this.count = count;
  }

  /** Elements {@code from} to {@code from + count - 1} of memory with so many bytes. */
  private static Vec range(DataType type, Object memory, long bytes, long from, long count) {
    Objects.checkFromIndexSize(from, count, bytes / type.bytes());
    return new Vec(type, memory, from * type.bytes(), count);
  }

  private static Vec whole(DataType type, Object memory, long bytes) {
    return new Vec(type, memory, 0, elements(type, bytes));
  }

  private static long elements(DataType type, long bytes) {
    if (bytes % type.bytes() != 0) {
      throw new IllegalArgumentException(
          bytes + " bytes are no whole elements of " + type + ", which have " + type.bytes());
    }
    return bytes / type.bytes();
  }

  /**
   * Elements of a buffer.
   *
   * @param type their type
   * @param buffer where they lie
   * @param from the first one
   * @param count how many
   * @return the elements
   * @throws IndexOutOfBoundsException if the buffer has not so many
   */
  public static Vec of(DataType type, LciBuffer buffer, long from, long count) {
    Objects.requireNonNull(type, "type");
    return range(type, Objects.requireNonNull(buffer, "buffer"), buffer.size(), from, count);
  }

  /**
   * Elements of a buffer, counted from its position; later moves of that do not matter.
   *
   * @param type their type
   * @param buffer where they lie, between its position and its limit
   * @param from the first one
   * @param count how many
   * @return the elements
   * @throws IndexOutOfBoundsException if the buffer has not so many
   */
  public static Vec of(DataType type, ByteBuffer buffer, long from, long count) {
    Objects.requireNonNull(type, "type");
    ByteBuffer slice = Objects.requireNonNull(buffer, "buffer").slice();
    return range(type, slice, slice.capacity(), from, count);
  }

  // Longs

  /**
   * All longs of a buffer.
   *
   * @param buffer where they lie
   * @return the longs
   * @throws IllegalArgumentException if its bytes are no whole elements
   */
  public static Vec longs(LciBuffer buffer) {
    return whole(DataType.I64, Objects.requireNonNull(buffer, "buffer"), buffer.size());
  }

  /**
   * Some longs of a buffer.
   *
   * @param buffer where they lie
   * @param from the first one
   * @param count how many
   * @return the longs
   * @throws IndexOutOfBoundsException if the buffer has not so many
   */
  public static Vec longs(LciBuffer buffer, long from, long count) {
    return of(DataType.I64, buffer, from, count);
  }

  /**
   * The longs between a buffer's position and its limit; later moves of those do not matter.
   *
   * @param buffer where they lie
   * @return the longs
   * @throws IllegalArgumentException if the bytes are no whole elements
   */
  public static Vec longs(ByteBuffer buffer) {
    ByteBuffer slice = Objects.requireNonNull(buffer, "buffer").slice();
    return whole(DataType.I64, slice, slice.capacity());
  }

  /**
   * All longs of an array.
   *
   * @param array where they lie
   * @return the longs
   */
  public static Vec longs(long[] array) {
    return longs(array, 0, Objects.requireNonNull(array, "array").length);
  }

  /**
   * Some longs of an array.
   *
   * @param array where they lie
   * @param from the first one
   * @param count how many
   * @return the longs
   * @throws IndexOutOfBoundsException if the array has not so many
   */
  public static Vec longs(long[] array, int from, int count) {
    long bytes = (long) Objects.requireNonNull(array, "array").length * Long.BYTES;
    return range(DataType.I64, array, bytes, from, count);
  }

  // Doubles

  /**
   * All doubles of a buffer.
   *
   * @param buffer where they lie
   * @return the doubles
   * @throws IllegalArgumentException if its bytes are no whole elements
   */
  public static Vec doubles(LciBuffer buffer) {
    return whole(DataType.F64, Objects.requireNonNull(buffer, "buffer"), buffer.size());
  }

  /**
   * Some doubles of a buffer.
   *
   * @param buffer where they lie
   * @param from the first one
   * @param count how many
   * @return the doubles
   * @throws IndexOutOfBoundsException if the buffer has not so many
   */
  public static Vec doubles(LciBuffer buffer, long from, long count) {
    return of(DataType.F64, buffer, from, count);
  }

  /**
   * The doubles between a buffer's position and its limit; later moves of those do not matter.
   *
   * @param buffer where they lie
   * @return the doubles
   * @throws IllegalArgumentException if the bytes are no whole elements
   */
  public static Vec doubles(ByteBuffer buffer) {
    ByteBuffer slice = Objects.requireNonNull(buffer, "buffer").slice();
    return whole(DataType.F64, slice, slice.capacity());
  }

  /**
   * All doubles of an array.
   *
   * @param array where they lie
   * @return the doubles
   */
  public static Vec doubles(double[] array) {
    return doubles(array, 0, Objects.requireNonNull(array, "array").length);
  }

  /**
   * Some doubles of an array.
   *
   * @param array where they lie
   * @param from the first one
   * @param count how many
   * @return the doubles
   * @throws IndexOutOfBoundsException if the array has not so many
   */
  public static Vec doubles(double[] array, int from, int count) {
    long bytes = (long) Objects.requireNonNull(array, "array").length * Double.BYTES;
    return range(DataType.F64, array, bytes, from, count);
  }

  // Ints

  /**
   * All ints of a buffer.
   *
   * @param buffer where they lie
   * @return the ints
   * @throws IllegalArgumentException if its bytes are no whole elements
   */
  public static Vec ints(LciBuffer buffer) {
    return whole(DataType.I32, Objects.requireNonNull(buffer, "buffer"), buffer.size());
  }

  /**
   * Some ints of a buffer.
   *
   * @param buffer where they lie
   * @param from the first one
   * @param count how many
   * @return the ints
   * @throws IndexOutOfBoundsException if the buffer has not so many
   */
  public static Vec ints(LciBuffer buffer, long from, long count) {
    return of(DataType.I32, buffer, from, count);
  }

  /**
   * The ints between a buffer's position and its limit; later moves of those do not matter.
   *
   * @param buffer where they lie
   * @return the ints
   * @throws IllegalArgumentException if the bytes are no whole elements
   */
  public static Vec ints(ByteBuffer buffer) {
    ByteBuffer slice = Objects.requireNonNull(buffer, "buffer").slice();
    return whole(DataType.I32, slice, slice.capacity());
  }

  /**
   * All ints of an array.
   *
   * @param array where they lie
   * @return the ints
   */
  public static Vec ints(int[] array) {
    return ints(array, 0, Objects.requireNonNull(array, "array").length);
  }

  /**
   * Some ints of an array.
   *
   * @param array where they lie
   * @param from the first one
   * @param count how many
   * @return the ints
   * @throws IndexOutOfBoundsException if the array has not so many
   */
  public static Vec ints(int[] array, int from, int count) {
    long bytes = (long) Objects.requireNonNull(array, "array").length * Integer.BYTES;
    return range(DataType.I32, array, bytes, from, count);
  }

  // Floats

  /**
   * All floats of a buffer.
   *
   * @param buffer where they lie
   * @return the floats
   * @throws IllegalArgumentException if its bytes are no whole elements
   */
  public static Vec floats(LciBuffer buffer) {
    return whole(DataType.F32, Objects.requireNonNull(buffer, "buffer"), buffer.size());
  }

  /**
   * Some floats of a buffer.
   *
   * @param buffer where they lie
   * @param from the first one
   * @param count how many
   * @return the floats
   * @throws IndexOutOfBoundsException if the buffer has not so many
   */
  public static Vec floats(LciBuffer buffer, long from, long count) {
    return of(DataType.F32, buffer, from, count);
  }

  /**
   * The floats between a buffer's position and its limit; later moves of those do not matter.
   *
   * @param buffer where they lie
   * @return the floats
   * @throws IllegalArgumentException if the bytes are no whole elements
   */
  public static Vec floats(ByteBuffer buffer) {
    ByteBuffer slice = Objects.requireNonNull(buffer, "buffer").slice();
    return whole(DataType.F32, slice, slice.capacity());
  }

  /**
   * All floats of an array.
   *
   * @param array where they lie
   * @return the floats
   */
  public static Vec floats(float[] array) {
    return floats(array, 0, Objects.requireNonNull(array, "array").length);
  }

  /**
   * Some floats of an array.
   *
   * @param array where they lie
   * @param from the first one
   * @param count how many
   * @return the floats
   * @throws IndexOutOfBoundsException if the array has not so many
   */
  public static Vec floats(float[] array, int from, int count) {
    long bytes = (long) Objects.requireNonNull(array, "array").length * Float.BYTES;
    return range(DataType.F32, array, bytes, from, count);
  }

  // Bytes

  /**
   * All bytes of a buffer.
   *
   * @param buffer where they lie
   * @return the bytes
   * @throws IllegalArgumentException if its bytes are no whole elements
   */
  public static Vec bytes(LciBuffer buffer) {
    return whole(DataType.I8, Objects.requireNonNull(buffer, "buffer"), buffer.size());
  }

  /**
   * Some bytes of a buffer.
   *
   * @param buffer where they lie
   * @param from the first one
   * @param count how many
   * @return the bytes
   * @throws IndexOutOfBoundsException if the buffer has not so many
   */
  public static Vec bytes(LciBuffer buffer, long from, long count) {
    return of(DataType.I8, buffer, from, count);
  }

  /**
   * The bytes between a buffer's position and its limit; later moves of those do not matter.
   *
   * @param buffer where they lie
   * @return the bytes
   * @throws IllegalArgumentException if the bytes are no whole elements
   */
  public static Vec bytes(ByteBuffer buffer) {
    ByteBuffer slice = Objects.requireNonNull(buffer, "buffer").slice();
    return whole(DataType.I8, slice, slice.capacity());
  }

  /**
   * All bytes of an array.
   *
   * @param array where they lie
   * @return the bytes
   */
  public static Vec bytes(byte[] array) {
    return bytes(array, 0, Objects.requireNonNull(array, "array").length);
  }

  /**
   * Some bytes of an array.
   *
   * @param array where they lie
   * @param from the first one
   * @param count how many
   * @return the bytes
   * @throws IndexOutOfBoundsException if the array has not so many
   */
  public static Vec bytes(byte[] array, int from, int count) {
    long bytes = (long) Objects.requireNonNull(array, "array").length * Byte.BYTES;
    return range(DataType.I8, array, bytes, from, count);
  }

  // Its parts

  /**
   * The same bytes as elements of another type, such as unsigned ones, or pairs.
   *
   * @param other the type
   * @return the elements
   * @throws IllegalArgumentException if the bytes are no whole elements of that type
   */
  public Vec as(DataType other) {
    Objects.requireNonNull(other, "other");
    return new Vec(other, memory, offset, elements(other, bytes()));
  }

  /**
   * Some of the elements.
   *
   * @param from the first one
   * @param elements how many
   * @return those elements
   * @throws IndexOutOfBoundsException if there are not so many
   */
  public Vec slice(long from, long elements) {
    Objects.checkFromIndexSize(from, elements, count);
    return new Vec(type, memory, offset + from * type.bytes(), elements);
  }

  /** {@return the type of the elements} */
  public DataType type() {
    return type;
  }

  /** {@return how many elements there are} */
  public long count() {
    return count;
  }

  /** {@return the bytes of all elements} */
  public long bytes() {
    return count * type.bytes();
  }

  /** {@return where the elements lie: an {@link LciBuffer}, an array or a {@link ByteBuffer}} */
  public Object memory() {
    return memory;
  }

  /** {@return the bytes before the first element} Of a {@code ByteBuffer}: from its position. */
  public long offset() {
    return offset;
  }

  @Override
  public String toString() {
    String where = memory.getClass().isArray() ? memory.getClass().getSimpleName() : "" + memory;
    return "Vec[" + count + ' ' + type + " at byte " + offset + " of " + where + ']';
  }
}
