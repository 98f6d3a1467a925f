/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.jna.Native;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class NativeMemoryTest {

  private static final long GIB = 1L << 30;
  private static final long LENGTH = 3 * GIB + 4096;

  private static final int READ_WRITE = 3;
  private static final int PRIVATE_ANONYMOUS_NORESERVE = 0x4022;

  static {
    Native.register(NativeMemoryTest.class, "c");
  }

  private static native long mmap(
      long address, long length, int protection, int flags, int file, long offset);

  private static native int munmap(long address, long length);

  private long address;

  @BeforeEach
  void reserve() {
    address = mmap(0, LENGTH, READ_WRITE, PRIVATE_ANONYMOUS_NORESERVE, -1, 0);
    assertThat(address).isNotEqualTo(-1);
  }

  @AfterEach
  void release() {
    assertThat(munmap(address, LENGTH)).isZero();
  }

  @Test
  void windowsOfALargeRegionShowTheSameBytes() {
    NativeMemory memory = NativeMemory.wrap(address, LENGTH);
    for (long boundary = GIB; boundary <= 3 * GIB; boundary += GIB) {
      long start = boundary - 4;
      memory.slice(start, 8).putLong(0, 0x1122334455667788L);
      assertThat(memory.window(boundary).getInt(NativeMemory.indexInWindow(boundary)))
          .isEqualTo(0x11223344);
      assertThat(memory.window(start).getLong(NativeMemory.indexInWindow(start)))
          .isEqualTo(0x1122334455667788L);
    }
  }

  @Test
  void everyRangeOfOneGibLiesInTheWindowOfItsFirstByte() {
    NativeMemory memory = NativeMemory.wrap(address, LENGTH);
    long last = 2 * GIB - 1;
    ByteBuffer range = memory.slice(last, (int) GIB);
    range.put((int) GIB - 1, (byte) 7);
    assertThat(memory.slice(last + GIB - 1, 1).get(0)).isEqualTo((byte) 7);
  }

  @Test
  void aRangeMayBeAsLongAsABuffer() {
    NativeMemory memory = NativeMemory.wrap(address, LENGTH);
    for (long start : new long[] {GIB - 8, GIB, LENGTH - Integer.MAX_VALUE}) {
      for (int size : new int[] {(int) GIB + 64, Integer.MAX_VALUE}) {
        ByteBuffer range = memory.slice(start, size);
        assertThat(range.capacity()).isEqualTo(size);
        assertThat(range.order()).isEqualTo(ByteOrder.LITTLE_ENDIAN);
        range.put(0, (byte) 3).put(size - 1, (byte) 5);
        assertThat(memory.slice(start, 1).get(0)).isEqualTo((byte) 3);
        assertThat(memory.slice(start + size - 1, 1).get(0)).isEqualTo((byte) 5);
      }
    }
  }

  @Test
  void buffersAreLittleEndian() {
    NativeMemory memory = NativeMemory.wrap(address, 64);
    assertThat(memory.buffer().order()).isEqualTo(ByteOrder.LITTLE_ENDIAN);
    assertThat(memory.slice(8, 8).order()).isEqualTo(ByteOrder.LITTLE_ENDIAN);
    assertThat(memory.buffer().capacity()).isEqualTo(64);
    memory.buffer().putInt(0, 0x01020304);
    assertThat(memory.buffer().get(0)).isEqualTo((byte) 4);
  }

  @Test
  void refusesWhatIsOutside() {
    NativeMemory memory = NativeMemory.wrap(address, 64);
    assertThatThrownBy(() -> memory.slice(60, 5)).isInstanceOf(IndexOutOfBoundsException.class);
    assertThatThrownBy(() -> memory.slice(-1, 1)).isInstanceOf(IndexOutOfBoundsException.class);
    assertThatThrownBy(() -> memory.slice(Long.MAX_VALUE, 5))
        .isInstanceOf(IndexOutOfBoundsException.class);
    assertThat(memory.slice(64, 0).capacity()).isZero();
    assertThatThrownBy(() -> NativeMemory.wrap(0, 64)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> NativeMemory.wrap(address, 0))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void stringsCrossAsUtf8() {
    String text = "port Zürich €";
    ByteBuffer cString = NativeMemory.cString(text);
    assertThat(cString.get(cString.limit() - 1)).isZero();
    assertThat(NativeMemory.string(NativeMemory.address(cString))).isEqualTo(text);
    assertThat(NativeMemory.string(0)).isEmpty();
    assertThatThrownBy(() -> NativeMemory.cString("a\0b"))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> NativeMemory.address(ByteBuffer.allocate(8)))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void scratchSlotsAreWhereTheirAddressesSay() {
    NativeScratch scratch = new NativeScratch(3);
    NativeMemory seen = NativeMemory.wrap(scratch.address(0), 24);
    seen.buffer().putLong(16, -2L);
    assertThat(scratch.getLong(2)).isEqualTo(-2L);
    assertThat(scratch.getInt(2)).isEqualTo(-2);
    assertThat(scratch.address(2) - scratch.address(0)).isEqualTo(16);
    scratch.putLong(1, 5);
    assertThat(seen.buffer().getLong(8)).isEqualTo(5);
  }
}
