/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.testing;

import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.LciSnapshot;
import io.lci.internal.runtime.Runtimes;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.IntFunction;

/**
 * A job of several ranks in this JVM, over the real shared-memory transport: {@code try (var job =
 * LciTestJob.start(2))}. Closing closes all ranks; {@link LciLeakCheck} then looks at their
 * ledgers.
 */
public final class LciTestJob implements AutoCloseable {
  private static final List<LciTestJob> OPENED = new ArrayList<>();

  private final List<LciRuntime> ranks;

  private LciTestJob(List<LciRuntime> ranks) {
    this.ranks = ranks;
  }

  /**
   * Starts a job with default options.
   *
   * @param size ranks
   * @return the job
   */
  public static LciTestJob start(int size) {
    return start(size, LciOptions.defaults());
  }

  /**
   * Starts a job.
   *
   * @param size ranks
   * @param options the same for every rank
   * @return the job
   */
  public static LciTestJob start(int size, LciOptions options) {
    return start(size, rank -> options);
  }

  /**
   * Starts a job.
   *
   * @param size ranks
   * @param options by rank
   * @return the job
   */
  public static LciTestJob start(int size, IntFunction<LciOptions> options) {
    long handle = Runtimes.createJob(size);
    ExecutorService joining =
        Executors.newFixedThreadPool(size); // a rank blocks until all have come
    try {
      List<CompletableFuture<LciRuntime>> futures = new ArrayList<>();
      for (int i = 0; i < size; i++) {
        int rank = i;
        futures.add(
            CompletableFuture.supplyAsync(
                () -> Runtimes.create(options.apply(rank), handle, rank), joining));
      }
      LciTestJob job = new LciTestJob(futures.stream().map(CompletableFuture::join).toList());
      synchronized (OPENED) {
        OPENED.add(job);
      }
      return job;
    } finally {
      joining.shutdown();
      Runtimes.freeJob(handle);
    }
  }

  /** Jobs started since the last call. */
  static List<LciTestJob> takeOpened() {
    synchronized (OPENED) {
      List<LciTestJob> opened = List.copyOf(OPENED);
      OPENED.clear();
      return opened;
    }
  }

  /** Returns the number of ranks. */
  public int size() {
    return ranks.size();
  }

  /**
   * Returns one rank.
   *
   * @param index its number
   * @return its runtime
   */
  public LciRuntime rank(int index) {
    return ranks.get(index);
  }

  /** Returns all ranks, in order. */
  public List<LciRuntime> ranks() {
    return ranks;
  }

  /** Whether every rank is closed. */
  boolean isClosed() {
    return ranks.stream().allMatch(LciRuntime::isDisposed);
  }

  /** Returns the ranks' last counters. */
  List<LciSnapshot> snapshots() {
    return ranks.stream().map(LciRuntime::snapshot).toList();
  }

  /** Closes all ranks at once and waits. */
  @Override
  public void close() {
    ranks.stream()
        .map(rank -> CompletableFuture.runAsync(rank::close))
        .toList()
        .forEach(CompletableFuture::join);
  }
}
