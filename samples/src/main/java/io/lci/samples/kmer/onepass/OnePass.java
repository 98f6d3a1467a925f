/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.onepass;

import io.lci.LciLoop;
import io.lci.LciRuntime;
import io.lci.collective.CollectiveContext;
import io.lci.collective.StreamOptions;
import io.lci.samples.kmer.common.Feed;
import io.lci.samples.kmer.common.JobProgress;
import io.lci.samples.kmer.common.KmerOptions;
import io.lci.samples.kmer.common.ResultMessage;
import io.lci.samples.reads.SequenceReader;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.LongAdder;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/**
 * Counts in one pass. Each loop has a shuffle of its own, whose source is a thread that reads; what
 * comes is kept by partition. Then the partitions are counted.
 */
public final class OnePass implements Disposable {
  /** Keys of contexts: this, and the number of the loop. */
  private static final int FIRST_CONTEXT = 100;

  /** A cancel means that the job ends, which all hear for its reason. */
  private static final StreamOptions STREAM =
      StreamOptions.builder()
          .windowItems(128)
          .windowBytes(1 << 20)
          .onCancel(StreamOptions.OnCancel.DISCARD)
          .build();

  private final LciRuntime lci;
  private final KmerOptions options;
  private final Partitions partitions;
  private final List<PartitionStore> stores;
  private final long bytes;
  private final Scheduler workers;

  /** Of their own: a spill that frees a reader must never wait for the thread that this one has. */
  private final Scheduler readers;

  private final JobProgress progress;
  private final LongAdder read = new LongAdder();

  /**
   * @param bytes what this rank reads
   * @param workers where writing may wait for the disk, and counting takes its time
   */
  public OnePass(
      LciRuntime lci,
      KmerOptions options,
      KmerOptions.OnePass form,
      long bytes,
      Scheduler workers,
      JobProgress progress) {
    this.lci = lci;
    this.options = options;
    this.bytes = bytes;
    this.workers = workers;
    this.readers =
        Schedulers.newBoundedElastic(
            lci.loops().size(), Integer.MAX_VALUE, "kmer-reader", 60, true);
    this.progress = progress;
    this.partitions = new Partitions(form.partitions(), lci.size());
    long each = form.memoryBytes() / lci.loops().size();
    this.stores =
        lci.loops().stream()
            .map(loop -> new PartitionStore(partitions, lci.rank(), each, form.temporary()))
            .toList();
  }

  /** {@return all that this rank counts; for one subscriber} */
  public Flux<ResultMessage> results() {
    int loops = lci.loops().size();
    return Mono.fromRunnable(() -> progress.start("reading", bytes))
        .thenMany(Flux.fromIterable(lci.loops()).flatMap(this::receive, loops))
        .then(Mono.fromRunnable(this::startCounting))
        .thenMany(Flux.defer(this::counted))
        .concatWith(Mono.fromSupplier(() -> ResultMessage.summary(read.sum())));
  }

  /** Keeps what comes to a loop; a disk that is slower than the others send makes them wait. */
  private Mono<Void> receive(LciLoop loop) {
    CollectiveContext context =
        lci.world().context(FIRST_CONTEXT + loop.index(), loop.devices().get(0));
    PartitionStore store = stores.get(loop.index());
    return context
        .streams()
        .shuffle(source(loop), block -> partitions.owner(block.partition()), Block.CODEC, STREAM)
        .concatMap(block -> keep(store, block))
        .then();
  }

  private Mono<Void> keep(PartitionStore store, Block block) {
    store.add(block);
    return store.isFull()
        ? Mono.<Void>fromRunnable(store::spill).subscribeOn(workers)
        : Mono.empty();
  }

  private Feed<Block> source(LciLoop loop) {
    return new Feed<>(feed -> readers.schedule(() -> readAll(loop.index(), feed)));
  }

  private void readAll(int loop, Feed<Block> feed) {
    try {
      PartitionWriter writer =
          new PartitionWriter(options.shape(), partitions.count(), block -> put(feed, block));
      int loops = lci.loops().size();
      SequenceReader reader =
          new SequenceReader(
              options.shape().k(),
              lci.rank() * loops + loop,
              lci.size() * loops,
              progress::add,
              writer);
      options.files().forEach(reader::read);
      writer.finish();
      read.add(writer.kmers());
      feed.complete();
    } catch (CancellationException e) {
      // The stream has ended, and tells why.
      return;
    } catch (RuntimeException e) {
      feed.fail(e);
    } catch (Error e) {
      feed.fail(e);
      throw e;
    }
  }

  private void put(Feed<Block> feed, Block block) {
    try {
      feed.put(block);
      progress.addKmers(block.kmers());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new CancellationException("reading was interrupted");
    }
  }

  private void startCounting() {
    progress.finish();
    progress.start("counting", partitions.of(lci.rank()));
  }

  private Flux<ResultMessage> counted() {
    int mine = partitions.of(lci.rank());
    return new Counting(options.shape(), options.dump() != null, stores, mine, progress)
        .results(lci.loops().size(), workers)
        .doOnComplete(progress::finish);
  }

  @Override
  public void dispose() {
    readers.dispose();
    stores.forEach(PartitionStore::close);
  }
}
