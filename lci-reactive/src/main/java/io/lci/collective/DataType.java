/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

/**
 * The type of the elements of a {@link Vec}. Numbers are little-endian, of two's complement or of
 * IEEE 754. A pair is a value and an index, one after the other without a gap; {@link
 * ReduceOp#MINLOC} and {@link ReduceOp#MAXLOC} combine pairs, and nothing else does.
 *
 * @since 0.1
 */
public enum DataType {
  /** A signed byte. */
  I8(1),
  /** An unsigned byte. */
  U8(1),
  /** A signed number of 16 bits. */
  I16(2),
  /** An unsigned number of 16 bits. */
  U16(2),
  /** A signed number of 32 bits. */
  I32(4),
  /** An unsigned number of 32 bits. */
  U32(4),
  /** A signed number of 64 bits. */
  I64(8),
  /** An unsigned number of 64 bits. */
  U64(8),
  /** A float. */
  F32(4),
  /** A double. */
  F64(8),
  /** A signed number of 32 bits, and an index of 32 bits. */
  I32_I32(8),
  /** A signed number of 64 bits, and an index of 64 bits. */
  I64_I64(16),
  /** A float, and an index of 32 bits. */
  F32_I32(8),
  /** A double, and an index of 64 bits. */
  F64_I64(16);

  private final int bytes;

  DataType(int bytes) {
    this.bytes = bytes;
  }

  /** {@return the bytes of an element} */
  public int bytes() {
    return bytes;
  }

  /** {@return whether an element is a value and its index} */
  public boolean isPair() {
    return ordinal() >= I32_I32.ordinal();
  }

  /** {@return whether an element is one whole number} */
  public boolean isInteger() {
    return ordinal() < F32.ordinal();
  }
}
