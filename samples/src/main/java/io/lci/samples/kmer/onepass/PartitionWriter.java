/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.onepass;

import io.lci.samples.kmer.common.KmerShape;
import io.lci.samples.kmer.common.PackedBases;
import io.lci.samples.kmer.common.RunSplitter;
import io.lci.samples.reads.FragmentSink;
import io.lci.samples.reads.SequenceReader;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Cuts fragments into runs of k-mers, and collects these in a block for each partition. Full blocks
 * are handed over. Belongs to one thread.
 */
final class PartitionWriter implements FragmentSink {
  /**
   * Bytes of a block: several fit a packet of 8 KiB with their headers, and all open ones 16 MiB.
   */
  static final int BLOCK_BYTES = 4000;

  /** Shorter than it could be: the runs are longer, so there is less to send and keep. */
  private static final int LONGEST_MINIMIZER = 11;

  private final int overlap;
  private final Consumer<? super Block> full;
  private final RunSplitter splitter;
  private final @Nullable Block[] open;
  private final byte[] packed =
      new byte[PackedBases.bytes(SequenceReader.MAX_FRAGMENT) + 2 * PackedBases.SLACK];
  private long kmers;

  PartitionWriter(KmerShape shape, int partitions, Consumer<? super Block> full) {
    this.overlap = shape.k() - 1;
    this.full = full;
    this.open = new Block[partitions];
    this.splitter =
        new RunSplitter(shape, shape.minimizer(LONGEST_MINIMIZER), partitions, this::addRun);
  }

  @Override
  public void fragment(byte[] codes, int length) {
    PackedBases.pack(codes, 0, length, packed, 0);
    splitter.fragment(codes, length);
  }

  private void addRun(int partition, byte[] codes, int from, int bases) {
    int left = bases - overlap;
    kmers += left;
    for (int at = from; left > 0; ) {
      int now = Math.min(left, Block.LONGEST_RUN);
      append(partition, at, now);
      at += now;
      left -= now;
    }
  }

  private void append(int partition, int from, int runKmers) {
    Block block = open[partition];
    int bases = runKmers + overlap;
    if (block == null || !block.append(packed, from, bases, runKmers)) {
      if (block != null) {
        full.accept(block);
      }
      block = new Block(partition, BLOCK_BYTES);
      open[partition] = block;
      block.append(packed, from, bases, runKmers);
    }
  }

  /** Hands over what is left. */
  void finish() {
    for (Block block : open) {
      if (block != null) {
        full.accept(block.trimmed());
      }
    }
  }

  /** K-mers that came so far. */
  long kmers() {
    return kmers;
  }
}
