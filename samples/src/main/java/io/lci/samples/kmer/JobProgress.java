/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer;

import java.util.concurrent.atomic.LongAdder;

/** What this rank's readers have done in the current pass. Any thread. */
final class JobProgress {
  private final LongAdder bytes = new LongAdder();
  private final LongAdder kmers = new LongAdder();
  private volatile int pass;
  private volatile long startNanos = System.nanoTime();

  void startPass(int newPass) {
    bytes.reset();
    kmers.reset();
    startNanos = System.nanoTime();
    pass = newPass;
  }

  /** The passes are over. */
  void finish() {
    pass = 0;
  }

  void addBytes(long n) {
    bytes.add(n);
  }

  void addKmers(long n) {
    kmers.add(n);
  }

  /** The current pass; 0 before the first and after the last. */
  int pass() {
    return pass;
  }

  long bytes() {
    return bytes.sum();
  }

  /** K-mers per second since the pass began. */
  double rate() {
    return kmers.sum() * 1e9 / Math.max(1, System.nanoTime() - startNanos);
  }
}
