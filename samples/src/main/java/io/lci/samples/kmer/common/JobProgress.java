/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.common;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;

/** What this rank has done in the current phase of the job. Any thread. */
public final class JobProgress {
  private final LongAdder done = new LongAdder();
  private final LongAdder kmers = new LongAdder();
  private final List<Double> seconds = new ArrayList<>();
  private volatile String phase = "";
  private volatile long total;
  private volatile long startNanos = System.nanoTime();

  /**
   * A phase begins.
   *
   * @param name for people
   * @param newTotal how much there is to do
   */
  public synchronized void start(String name, long newTotal) {
    done.reset();
    kmers.reset();
    total = newTotal;
    startNanos = System.nanoTime();
    phase = name;
  }

  /** The phase is over. */
  public synchronized void finish() {
    seconds.add((System.nanoTime() - startNanos) / 1e9);
    phase = "";
  }

  /** A part of the phase is done. */
  public void add(long n) {
    done.add(n);
  }

  /** K-mers have passed. */
  public void addKmers(long n) {
    kmers.add(n);
  }

  /**
   * {@return the name of the current phase; empty before the first, between them and at the end}
   */
  public String phase() {
    return phase;
  }

  /** {@return the part of the phase that is done, 0 to 1} */
  public double part() {
    return Math.min(1, done.sum() / (double) Math.max(1, total));
  }

  /** {@return k-mers per second since the phase began} */
  public double rate() {
    return kmers.sum() * 1e9 / Math.max(1, System.nanoTime() - startNanos);
  }

  /** {@return how long the phases took that are over} */
  public synchronized List<Double> seconds() {
    return List.copyOf(seconds);
  }
}
