/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.reads;

/**
 * The part of a file that one of several readers handles. The file is cut into stripes of equal
 * length; reader i of n owns the stripes i, i + n, i + 2n and so on, hence every byte has one owner
 * whatever the number of readers. A FASTQ record belongs to the owner of its first byte, a k-mer of
 * a FASTA file to the owner of its first base.
 *
 * <p>A plain file has one stripe per reader, so that each reads its own part only. A compressed
 * file can only be read from its beginning: its stripes are short, and each reader passes over
 * those of the others.
 */
record Share(long stripe, int reader, int readers, long first, long last) {
  private static final long COMPRESSED_STRIPE = 1 << 20;

  static Share ofPlain(long fileSize, int reader, int readers) {
    long stripe = Math.max(1, (fileSize + readers - 1) / readers);
    return new Share(stripe, reader, readers, stripe * reader, stripe * (reader + 1));
  }

  static Share ofCompressed(int reader, int readers) {
    long stripe = readers == 1 ? Long.MAX_VALUE : COMPRESSED_STRIPE;
    return new Share(stripe, reader, readers, 0, Long.MAX_VALUE);
  }

  boolean owns(long offset) {
    return offset / stripe % readers == reader;
  }

  /** End of the stripe that contains {@code offset}. */
  long stripeEnd(long offset) {
    long index = offset / stripe;
    return index >= Long.MAX_VALUE / stripe ? Long.MAX_VALUE : (index + 1) * stripe;
  }

  /** No byte from {@code offset} on is ours. */
  boolean isPast(long offset) {
    return offset >= last;
  }
}
