/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.onepass;

import io.lci.Codec;
import io.lci.am.MessageView;
import io.lci.am.PayloadWriter;
import io.lci.samples.kmer.common.PackedBases;

/**
 * Runs of k-mers of one partition, an item of the shuffle. It travels as partition (4 bytes),
 * number of k-mers (4 bytes), runs. A run is its number of k-mers (1 byte), and its bases, packed.
 */
final class Block {
  /** As bytes. */
  static final Codec<Block> CODEC = Codec.of(Block::encode, Block::decode);

  /** Most k-mers of a run. */
  static final int LONGEST_RUN = 255;

  private static final int HEADER = 2 * Integer.BYTES;

  private final int partition;
  private final byte[] bytes;
  private int length;
  private int kmers;

  /** An empty block with room for {@code capacity} bytes of runs. */
  Block(int partition, int capacity) {
    this(partition, new byte[capacity + PackedBases.SLACK], 0, 0);
  }

  private Block(int partition, byte[] bytes, int length, int kmers) {
    this.partition = partition;
    this.bytes = bytes;
    this.length = length;
    this.kmers = kmers;
  }

  int partition() {
    return partition;
  }

  /** The runs, and {@link PackedBases#SLACK}. */
  byte[] bytes() {
    return bytes;
  }

  /** Bytes of the runs. */
  int length() {
    return length;
  }

  /** K-mers of all runs. */
  int kmers() {
    return kmers;
  }

  /** Bytes that it keeps in use. */
  int footprint() {
    return bytes.length;
  }

  /**
   * Adds a run of bases from a packed fragment; false if there is no room.
   *
   * @param from number of its first base in {@code packed}
   */
  boolean append(byte[] packed, int from, int bases, int runKmers) {
    int end = length + 1 + PackedBases.bytes(bases);
    if (end + PackedBases.SLACK > bytes.length) {
      return false;
    }
    bytes[length] = (byte) runKmers;
    PackedBases.copy(packed, from, bases, bytes, length + 1);
    length = end;
    kmers += runKmers;
    return true;
  }

  /** Whether its bytes can have so many k-mers: the byte before a run says up to 255. */
  boolean isPlausible() {
    return kmers >= 0 && kmers <= (long) LONGEST_RUN * length;
  }

  /** The same in as little memory as it needs. */
  Block trimmed() {
    byte[] kept = new byte[length + PackedBases.SLACK];
    System.arraycopy(bytes, 0, kept, 0, length);
    return new Block(partition, kept, length, kmers);
  }

  private static void encode(Block block, PayloadWriter out) {
    out.putInt(block.partition).putInt(block.kmers).putBytes(block.bytes, 0, block.length);
  }

  private static Block decode(MessageView view) {
    int length = view.size() - HEADER;
    byte[] bytes = new byte[length + PackedBases.SLACK];
    view.getBytes(HEADER, bytes, 0, length);
    return new Block(view.getInt(0), bytes, length, view.getInt(Integer.BYTES));
  }
}
