/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.onepass;

import io.lci.samples.kmer.common.CountTable;
import io.lci.samples.kmer.common.KmerBatch;
import io.lci.samples.kmer.common.KmerShape;
import io.lci.samples.kmer.common.PackedBases;
import java.util.List;

/** Counts one partition after the other. Belongs to one thread. */
final class PartitionCounter {
  private final int overlap;
  private final KmerBatch batch;
  private final CountTable table = new CountTable(0);

  /** Distinct k-mers for each k-mer of the last partition: the next one will be alike. */
  private double distinctPart = 0.25;

  PartitionCounter(KmerShape shape) {
    this.overlap = shape.k() - 1;
    this.batch = new KmerBatch(shape);
  }

  /** The table of the last partition. */
  CountTable table() {
    return table;
  }

  /**
   * Counts one of this rank's partitions; all of {@code stores} have some of it.
   *
   * @return its k-mers
   */
  long count(int place, List<PartitionStore> stores) {
    long announced = 0;
    for (PartitionStore store : stores) {
      announced += store.kmers(place);
    }
    table.clear((long) (announced * distinctPart));
    long[] counted = new long[1];
    for (PartitionStore store : stores) {
      store.drain(place, (bytes, length) -> counted[0] += add(bytes, length));
    }
    flush();
    if (counted[0] != announced) {
      throw new IllegalStateException(
          "a partition holds " + counted[0] + " k-mers, announced are " + announced);
    }
    if (announced > 0) {
      distinctPart = table.size() / (double) announced;
    }
    return announced;
  }

  private long add(byte[] bytes, int length) {
    long kmers = 0;
    for (int at = 0; at < length; ) {
      int runKmers = bytes[at] & 0xff;
      int bases = runKmers + overlap;
      int next = at + 1 + PackedBases.bytes(bases);
      if (runKmers == 0 || next > length) {
        throw new IllegalStateException("runs of " + length + " bytes are damaged at " + at);
      }
      batch.addRun(bytes, at + 1, bases);
      kmers += runKmers;
      if (batch.isFull()) {
        flush();
      }
      at = next;
    }
    return kmers;
  }

  private void flush() {
    table.count(batch);
    batch.clear();
  }
}
