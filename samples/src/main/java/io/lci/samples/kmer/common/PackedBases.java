/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.common;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Bases in two bits each, four to a byte from the low bits up. */
public final class PackedBases {
  /** Words are read and written past the end of what is used: an array has so many bytes more. */
  public static final int SLACK = 8;

  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  /** Bases that a word has in any case, however far its first base is from the begin of a byte. */
  private static final int SURE = 28;

  private PackedBases() {}

  /** {@return the bytes of so many bases} */
  public static int bytes(int bases) {
    return (bases + 3) / 4;
  }

  /**
   * Up to 32 bases.
   *
   * @param bytes with {@link #SLACK}
   * @param at the byte where they begin
   * @return the first one in the low bits
   */
  public static long word(byte[] bytes, int at) {
    return (long) LONG.get(bytes, at);
  }

  /** Packs the bases {@code from} to {@code from + bases} of {@code codes} to byte {@code at}. */
  public static void pack(byte[] codes, int from, int bases, byte[] bytes, int at) {
    int to = at;
    int i = from;
    int last = from + bases;
    for (; i + 4 <= last; i += 4) {
      bytes[to++] = (byte) (codes[i] | codes[i + 1] << 2 | codes[i + 2] << 4 | codes[i + 3] << 6);
    }
    if (i < last) {
      int packed = 0;
      for (int shift = 0; i < last; shift += 2) {
        packed |= codes[i++] << shift;
      }
      bytes[to] = (byte) packed;
    }
  }

  /**
   * Copies packed bases to the begin of a byte. Up to {@link #SLACK} bytes after them are written,
   * too.
   *
   * @param from number of the first one in {@code source}
   */
  public static void copy(byte[] source, int from, int bases, byte[] target, int at) {
    int to = at;
    for (int done = 0; done < bases; done += SURE) {
      int first = from + done;
      LONG.set(target, to, word(source, first >>> 2) >>> (2 * (first & 3)));
      to += SURE / 4;
    }
  }
}
