/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.nativebridge.NativeMemory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Memory of an operation beyond a packet; owned by a slot from the post to the native signal. */
final class PooledBuffer {
  final ByteBuffer memory;
  final long address;

  PooledBuffer(int bytes) {
    memory = ByteBuffer.allocateDirect(bytes).order(ByteOrder.LITTLE_ENDIAN);
    address = NativeMemory.address(memory);
  }
}
