/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.twopass;

import io.lci.samples.kmer.common.PackedBases;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * One message to one owner: runs of consecutive bases, each the union of k-mers of that owner,
 * packed four to a byte.
 *
 * <pre>
 * byte 0      pass, 1 or 2; negative: end of the pass
 * byte 1..3   zero
 * byte 4..11  number of k-mers in the block; end of a pass: number sent in all
 * then runs   number of bases (2 bytes), bases packed from the low bits up
 * </pre>
 *
 * All little-endian. A run of n bases holds n - k + 1 k-mers.
 */
final class Block {
  /** Bytes of a full message, so that with its header it fits a packet of 8 KiB. */
  static final int CAPACITY = 8 * 1024 - 128;

  static final int HEADER = 12;
  static final int RUN_HEADER = 2;

  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle SHORT =
      MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.LITTLE_ENDIAN);

  private final byte[] bytes = new byte[CAPACITY + PackedBases.SLACK];
  private int owner;
  private int pass;
  private int length;
  private long kmers;

  /** Empties the block for another use. */
  void start(int newPass, int newOwner) {
    pass = newPass;
    owner = newOwner;
    length = HEADER;
    kmers = 0;
  }

  int owner() {
    return owner;
  }

  long kmers() {
    return kmers;
  }

  boolean isEmpty() {
    return length == HEADER;
  }

  /** The message; {@link #seal()} was called before. */
  byte[] bytes() {
    return bytes;
  }

  /** Bytes of the message. */
  int length() {
    return length;
  }

  /** Adds a run; false if there is no room. */
  boolean append(byte[] codes, int from, int bases, int runKmers) {
    int end = length + RUN_HEADER + PackedBases.bytes(bases);
    if (end > CAPACITY) {
      return false;
    }
    SHORT.set(bytes, length, (short) bases);
    PackedBases.pack(codes, from, bases, bytes, length + RUN_HEADER);
    length = end;
    kmers += runKmers;
    return true;
  }

  /** Completes the header. */
  Block seal() {
    writeHeader(pass, kmers);
    return this;
  }

  /** Makes this the message that ends a pass: {@code sent} k-mers went to this owner. */
  Block end(int endedPass, int newOwner, long sent) {
    start(endedPass, newOwner);
    writeHeader(-endedPass, sent);
    return this;
  }

  private void writeHeader(int kind, long count) {
    LONG.set(bytes, 0, kind & 0xffL);
    LONG.set(bytes, 4, count);
  }

  static int kind(byte[] message) {
    return message[0];
  }

  static long count(byte[] message) {
    return (long) LONG.get(message, 4);
  }

  static int runBases(byte[] message, int at) {
    return (short) SHORT.get(message, at) & 0xffff;
  }
}
