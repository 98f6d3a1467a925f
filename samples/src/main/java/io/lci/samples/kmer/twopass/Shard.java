/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.twopass;

import io.lci.samples.kmer.common.CountTable;
import io.lci.samples.kmer.common.KmerBatch;
import io.lci.samples.kmer.common.KmerShape;
import io.lci.samples.kmer.common.PackedBases;

/**
 * One loop's part of the k-mers: fills the rank's filter in the first pass, counts in the second.
 * Belongs to its loop's thread; only the filter is shared.
 */
final class Shard {
  static final int FILL = 1;
  static final int COUNT = 2;

  private final KmerShape shape;
  private final SeenFilter filter;
  private final KmerBatch batch;
  private long repeated;
  private CountTable table = new CountTable(0);
  private long touched;

  Shard(KmerShape shape, SeenFilter filter) {
    this.shape = shape;
    this.filter = filter;
    this.batch = new KmerBatch(shape);
  }

  /** Between the passes: makes a table of the size that the first pass promises. */
  void prepareCount() {
    table = new CountTable(repeated);
  }

  CountTable table() {
    return table;
  }

  /** Processes the runs of a block; answers the number of k-mers. */
  long process(byte[] message, int length) {
    boolean fill = Block.kind(message) == FILL;
    long kmers = 0;
    int at = Block.HEADER;
    while (at < length) {
      int bases = Block.runBases(message, at);
      int next = at + Block.RUN_HEADER + PackedBases.bytes(bases);
      if (bases < shape.k() || next > length) {
        throw new IllegalStateException("block of " + length + " bytes is damaged at " + at);
      }
      batch.addRun(message, at + Block.RUN_HEADER, bases);
      kmers += bases - shape.k() + 1;
      at = next;
      if (batch.isFull()) {
        flush(fill);
      }
    }
    flush(fill);
    if (kmers != Block.count(message)) {
      throw new IllegalStateException(
          "block holds " + kmers + " k-mers, announced are " + Block.count(message));
    }
    return kmers;
  }

  private void flush(boolean fill) {
    if (fill) {
      fill();
    } else {
      touched += table.touch(batch);
      table.count(batch, filter::seenAgain);
    }
    batch.clear();
  }

  private void fill() {
    touched += filter.touch(batch);
    long[] hashes = batch.hashes();
    for (int i = 0; i < batch.size(); i++) {
      if (filter.add(hashes[i]) == SeenFilter.SECOND) {
        repeated++;
      }
    }
  }

  /** Keeps the loads of {@code touch} from being optimised away. */
  long touched() {
    return touched;
  }
}
