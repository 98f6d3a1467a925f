/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.am;

import java.nio.ByteBuffer;
import java.util.Objects;

/** Finds the size of what an encoder writes, and keeps nothing of it. */
final class SizeCounter implements PayloadWriter {
  private int size;

  private PayloadWriter add(long bytes) {
    size = Math.toIntExact(size + bytes);
    return this;
  }

  @Override
  public PayloadWriter tag(long value) {
    return this;
  }

  @Override
  public PayloadWriter putByte(int value) {
    return add(Byte.BYTES);
  }

  @Override
  public PayloadWriter putShort(int value) {
    return add(Short.BYTES);
  }

  @Override
  public PayloadWriter putInt(int value) {
    return add(Integer.BYTES);
  }

  @Override
  public PayloadWriter putLong(long value) {
    return add(Long.BYTES);
  }

  @Override
  public PayloadWriter putBytes(byte[] source, int offset, int length) {
    Objects.checkFromIndexSize(offset, length, source.length);
    return add(length);
  }

  @Override
  public PayloadWriter putBytes(ByteBuffer source) {
    return add(source.remaining());
  }

  @Override
  public PayloadWriter putLongs(long[] source, int offset, int count) {
    Objects.checkFromIndexSize(offset, count, source.length);
    return add((long) Long.BYTES * count);
  }

  @Override
  public int size() {
    return size;
  }
}
