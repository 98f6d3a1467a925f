/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.onepass;

import io.lci.samples.kmer.common.Histogram;
import io.lci.samples.kmer.common.JobProgress;
import io.lci.samples.kmer.common.KmerShape;
import io.lci.samples.kmer.common.ResultMessage;
import io.lci.samples.kmer.common.Results;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.AtomicInteger;
import reactor.core.publisher.Flux;
import reactor.core.scheduler.Scheduler;

/**
 * Counts the partitions of this rank, several threads at a time, each in a table of its own, and
 * only as fast as the results are asked for.
 */
final class Counting {
  private final KmerShape shape;
  private final boolean withEntries;
  private final List<PartitionStore> stores;
  private final int partitions;
  private final JobProgress progress;
  private final AtomicInteger next = new AtomicInteger();

  /**
   * @param withEntries whether the k-mers that occur more than once are wanted
   * @param partitions of this rank
   */
  Counting(
      KmerShape shape,
      boolean withEntries,
      List<PartitionStore> stores,
      int partitions,
      JobProgress progress) {
    this.shape = shape;
    this.withEntries = withEntries;
    this.stores = stores;
    this.partitions = partitions;
    this.progress = progress;
  }

  /** What the partitions hold, for one subscriber. */
  Flux<ResultMessage> results(int threads, Scheduler workers) {
    return Flux.range(0, threads).flatMap(thread -> worker().subscribeOn(workers), threads, 1);
  }

  /** One thread's partitions, until none is left. */
  private Flux<ResultMessage> worker() {
    PartitionCounter counter = new PartitionCounter(shape);
    Flux<Integer> places =
        Flux.generate(
            sink -> {
              int place = next.getAndIncrement();
              if (place < partitions) {
                sink.next(place);
              } else {
                sink.complete();
              }
            });
    return places.concatMap(place -> count(counter, place), 0);
  }

  private Flux<ResultMessage> count(PartitionCounter counter, int place) {
    try {
      progress.addKmers(counter.count(place, stores));
    } catch (CancellationException e) {
      return Flux.never(); // the job has ended: nobody hears
    }
    progress.add(1);
    Histogram histogram = new Histogram();
    histogram.add(counter.table(), 1);
    Flux<ResultMessage> lines = Results.of(histogram);
    return withEntries ? lines.concatWith(Results.repeated(counter.table())) : lines;
  }
}
