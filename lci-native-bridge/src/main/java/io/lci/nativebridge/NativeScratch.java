/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Memory for out-parameters: 64-bit slots with known addresses. Not thread-safe; keep it reachable
 * while a call uses it, for example in a field or by reading a result from it after the call.
 */
public final class NativeScratch {

  private final ByteBuffer buffer;
  private final long address;

  /** Zeroed memory of {@code slots} times 8 bytes. */
  public NativeScratch(int slots) {
    buffer = ByteBuffer.allocateDirect(slots * Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    address = NativeMemory.address(buffer);
  }

  /** Address of a slot. */
  public long address(int slot) {
    return address + (long) slot * Long.BYTES;
  }

  /** The 64-bit value of a slot: also an address or a handle. */
  public long getLong(int slot) {
    return buffer.getLong(slot * Long.BYTES);
  }

  /** The 32-bit value at a slot's start. */
  public int getInt(int slot) {
    return buffer.getInt(slot * Long.BYTES);
  }

  /** Sets the 64-bit value of a slot. */
  public void putLong(int slot, long value) {
    buffer.putLong(slot * Long.BYTES, value);
  }

  /** All slots. Shared; use absolute accessors. */
  public ByteBuffer buffer() {
    return buffer;
  }
}
