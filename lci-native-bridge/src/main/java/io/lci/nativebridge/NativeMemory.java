/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * A native region that Java reads and writes in place: little-endian direct buffers, made once when
 * the region is wrapped. Nothing keeps the region alive; whoever wraps it knows how long it stays
 * mapped.
 *
 * <p>A buffer cannot be longer than 2 GiB - 1, so the region is covered by windows that begin at
 * every multiple of 1 GiB and overlap: any range of up to 1 GiB - 8 lies in the window of its first
 * byte.
 */
public final class NativeMemory {

  /** The best of this JVM, as for the calls. */
  private static final NativeAccess ACCESS = BindingChoice.ofThisJvm().bind().access();

  private static final int WINDOW_SHIFT = 30;
  private static final long WINDOW_STRIDE = 1L << WINDOW_SHIFT;

  /** {@code java.lang.foreign} makes no longer buffers. */
  private static final long LONGEST_WINDOW = Integer.MAX_VALUE - 8;

  private final long address;
  private final long length;
  private final ByteBuffer[] windows;

  private NativeMemory(long address, long length, ByteBuffer[] windows) {
    this.address = address;
    this.length = length;
    this.windows = windows;
  }

  /**
   * Wraps {@code length} bytes at {@code address}.
   *
   * @throws IllegalArgumentException if the address is 0 or the length not positive
   */
  public static NativeMemory wrap(long address, long length) {
    if (address == 0 || length <= 0) {
      throw new IllegalArgumentException("no region: address " + address + ", length " + length);
    }
    int count = Math.toIntExact(((length - 1) >>> WINDOW_SHIFT) + 1);
    ByteBuffer[] windows = new ByteBuffer[count];
    for (int i = 0; i < count; i++) {
      long offset = i * WINDOW_STRIDE;
      long size = Math.min(length - offset, length <= Integer.MAX_VALUE ? length : LONGEST_WINDOW);
      windows[i] = ACCESS.buffer(address + offset, size).order(ByteOrder.LITTLE_ENDIAN);
    }
    return new NativeMemory(address, length, windows);
  }

  /** First byte of the region. */
  public long address() {
    return address;
  }

  /** Bytes in the region. */
  public long length() {
    return length;
  }

  /**
   * The first window: all of a region that is not longer than 2 GiB - 1. Shared; use absolute
   * accessors.
   */
  public ByteBuffer buffer() {
    return windows[0];
  }

  /**
   * The window that holds {@code offset}; see {@link #indexInWindow}. Shared; use absolute
   * accessors.
   */
  public ByteBuffer window(long offset) {
    return windows[(int) (offset >>> WINDOW_SHIFT)];
  }

  /** Where {@code offset} lies in its {@link #window}. */
  public static int indexInWindow(long offset) {
    return (int) (offset & (WINDOW_STRIDE - 1));
  }

  /**
   * A little-endian view of its own, position 0.
   *
   * @throws IndexOutOfBoundsException if the range is not inside the region
   */
  public ByteBuffer slice(long offset, int size) {
    if (offset < 0 || size < 0 || offset > length - size) {
      throw new IndexOutOfBoundsException(offset + " + " + size + " exceeds " + length);
    }
    if (size == 0) {
      return ByteBuffer.allocateDirect(0).order(ByteOrder.LITTLE_ENDIAN);
    }
    ByteBuffer window = window(offset);
    int index = indexInWindow(offset);
    ByteBuffer range =
        size <= window.capacity() - index
            ? window.slice(index, size)
            : ACCESS.buffer(address + offset, size); // longer than windows overlap
    return range.order(ByteOrder.LITTLE_ENDIAN);
  }

  /**
   * Address of byte 0 of a direct buffer, whatever its position. The caller keeps the buffer
   * reachable.
   */
  public static long address(ByteBuffer direct) {
    if (!direct.isDirect()) {
      throw new IllegalArgumentException("not a direct buffer: " + direct);
    }
    return ACCESS.address(direct);
  }

  /** The text as a NUL-terminated UTF-8 string in a direct buffer. */
  public static ByteBuffer cString(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    for (byte b : bytes) {
      if (b == 0) {
        throw new IllegalArgumentException("text holds a NUL: it would be cut there");
      }
    }
    return ByteBuffer.allocateDirect(bytes.length + 1).put(bytes).put((byte) 0).flip();
  }

  /** The C string at an address; empty for address 0. */
  public static String string(long address) {
    return address == 0 ? "" : ACCESS.string(address);
  }
}
