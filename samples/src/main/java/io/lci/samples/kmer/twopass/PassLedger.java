/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.twopass;

/**
 * Knows when an owner has received all of a pass. Messages have no order: the word that a rank has
 * sent everything may arrive before what it sent. So each says how many k-mers there are, and the
 * pass is over when all ranks have said so and that many came.
 */
final class PassLedger {
  private final int senders;
  private int ended;
  private long announced;
  private long received;

  PassLedger(int senders) {
    this.senders = senders;
  }

  /** Some k-mers came. */
  void received(long kmers) {
    received += kmers;
  }

  /** One sender has sent its last, {@code kmers} in all. */
  void ended(long kmers) {
    ended++;
    announced += kmers;
  }

  /** K-mers that came so far. */
  long total() {
    return received;
  }

  boolean isComplete() {
    if (ended > senders || (ended == senders && received > announced)) {
      throw new IllegalStateException(
          received + " k-mers came from " + ended + " senders, expected " + announced);
    }
    return ended == senders && received == announced;
  }
}
