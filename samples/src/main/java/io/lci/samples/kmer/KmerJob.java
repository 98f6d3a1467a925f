/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer;

import io.lci.LciRuntime;
import io.lci.PeerEvent;
import io.lci.am.Port;
import io.lci.am.SenderOptions;
import io.lci.error.LciException;
import io.lci.error.PeerFailedException;
import io.lci.error.PeerLeftException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/**
 * Counts the k-mers of a job's reads, as one of its ranks. In the first pass every k-mer goes to
 * its owner's filter, in the second the owner counts those that the filter saw more than once; then
 * rank 0 gathers the results.
 */
final class KmerJob {
  private static final Duration REASON_LIMIT = Duration.ofSeconds(1);
  private static final Port RESULTS = Port.of(90, "kmer-results");

  private final LciRuntime lci;
  private final KmerOptions options;
  private final JobProgress progress;
  private final Owners owners;
  private final List<ShardServer> servers = new ArrayList<>();
  private final Disposable.Composite resources = Disposables.composite();
  private final Scheduler readers;
  private final double[] seconds = new double[2];
  private volatile boolean finishing;

  private KmerJob(LciRuntime lci, KmerOptions options, JobProgress progress) {
    this.lci = lci;
    this.options = options;
    this.progress = progress;
    this.owners = new Owners(lci.size(), lci.loops().size());
    SeenFilter filter = new SeenFilter(options.bloomBits());
    lci.loops()
        .forEach(
            loop -> servers.add(new ShardServer(lci, loop, new Shard(options.shape(), filter))));
    resources.addAll(servers);
    readers =
        Schedulers.newBoundedElastic(
            owners.loops() + 1, Integer.MAX_VALUE, "kmer-reader", 60, true);
    resources.add(readers);
  }

  /**
   * Runs the job.
   *
   * @param abort ends the job when another rank gives up
   * @return emits what was done, complete on rank 0 only
   */
  static Mono<JobSummary> run(
      LciRuntime lci, KmerOptions options, AbortLine abort, JobProgress progress) {
    return Mono.using(
        () -> new KmerJob(lci, options, progress),
        job ->
            Mono.firstWithSignal(job.work(), job.departure(), aborted(abort))
                .onErrorResume(LciException.class, lost -> cause(lci, abort, lost)),
        job -> job.resources.dispose());
  }

  private Mono<JobSummary> work() {
    return pass(Shard.FILL)
        .then(Mono.defer(() -> pass(Shard.COUNT)))
        .then(Mono.defer(this::gather))
        .flatMap(summary -> finish().thenReturn(summary));
  }

  /** Nobody leaves before all are done. */
  private Mono<Void> finish() {
    return Mono.defer(
        () -> {
          finishing = true;
          return lci.barrier();
        });
  }

  /** Never completes; fails when a peer is gone before the work is done. */
  private Mono<JobSummary> departure() {
    return firstGone(lci, event -> event.state() == PeerEvent.State.FAILED || !finishing);
  }

  /**
   * A rank that leaves early, or closes its ports, has a reason, such as the death of another. The
   * event that tells it is only a moment away.
   */
  private static Mono<JobSummary> cause(LciRuntime lci, AbortLine abort, Throwable lost) {
    return Mono.firstWithSignal(
        firstGone(lci, event -> event.state() == PeerEvent.State.FAILED),
        aborted(abort),
        Mono.delay(REASON_LIMIT).then(Mono.error(lost)));
  }

  private static Mono<JobSummary> firstGone(LciRuntime lci, Predicate<PeerEvent> which) {
    return lci.peerEvents()
        .filter(which)
        .next()
        .flatMap(event -> Mono.<JobSummary>error(gone(event)))
        .switchIfEmpty(Mono.never());
  }

  private static Mono<JobSummary> aborted(AbortLine abort) {
    return abort.failure().then(Mono.never());
  }

  private static LciException gone(PeerEvent event) {
    boolean failed = event.state() == PeerEvent.State.FAILED;
    LciException.Detail detail =
        new LciException.Detail(
            "kmer",
            event.rank(),
            LciException.NONE,
            LciException.NONE,
            failed ? "error_peer_failed" : "error_peer_left",
            "rank " + event.rank() + (failed ? " died" : " left") + " before the job was done");
    return failed ? new PeerFailedException(detail) : new PeerLeftException(detail);
  }

  /** Reads, sends, waits for everything that is ours, and then for the other ranks. */
  private Mono<Void> pass(int pass) {
    return Mono.defer(
        () -> {
          long start = System.nanoTime();
          progress.startPass(pass);
          Mono<Void> received = Mono.when(servers.stream().map(s -> s.done(pass)).toList());
          return Mono.when(send(pass), received)
              .then(lci.barrier())
              .doOnSuccess(v -> seconds[pass - 1] = (System.nanoTime() - start) / 1e9);
        });
  }

  private Mono<Void> send(int pass) {
    return Flux.range(0, owners.loops())
        .map(thread -> new PassReader(lci, owners, servers, options, pass, thread, progress))
        .flatMap(reader -> reader.run(readers), owners.loops())
        .reduce(new long[owners.count()], KmerJob::sum)
        .flatMap(sent -> sendEnds(pass, sent));
  }

  private static long[] sum(long[] total, long[] part) {
    for (int i = 0; i < total.length; i++) {
      total[i] += part[i];
    }
    return total;
  }

  private Mono<Void> sendEnds(int pass, long[] sent) {
    return Flux.range(0, owners.count())
        .flatMap(owner -> sendEnd(owner, new Block().end(pass, owner, sent[owner])))
        .then();
  }

  private Mono<Void> sendEnd(int owner, Block end) {
    int loop = owners.loop(owner);
    if (owners.rank(owner) == lci.rank()) {
      return Mono.fromRunnable(() -> servers.get(loop).takeLocal(end, () -> {}));
    }
    return lci.sender(Owners.port(loop), SenderOptions.builder().loop(loop).build())
        .sendAll(owners.rank(owner), Mono.just(end), PassReader.ENCODER);
  }

  private Mono<JobSummary> gather() {
    progress.finish();
    long received = servers.stream().mapToLong(s -> s.received(Shard.COUNT)).sum();
    List<CountTable> tables = servers.stream().map(s -> s.shard().table()).toList();
    ResultSource source = new ResultSource(lci.rank(), tables, received, options.dump() != null);
    Mono<Void> sent = lci.sender(RESULTS).sendAll(0, source.messages(), ResultMessage::encode);
    if (lci.rank() != 0) {
      return sent.thenReturn(new JobSummary(0, 0, seconds[0], seconds[1], List.of()));
    }
    Mono<JobSummary> collected =
        Mono.using(this::createDump, dump -> collect(dump.orElse(null)), KmerJob::closeDump);
    return Mono.zip(collected, sent.thenReturn(true)).map(both -> both.getT1());
  }

  private Mono<JobSummary> collect(@Nullable OutputFile dump) {
    ResultCollector collector =
        new ResultCollector(lci.size(), options.shape().k(), dump == null ? null : dump.stream());
    return lci.inbox(RESULTS)
        .receive(ResultMessage::decode)
        .publishOn(readers)
        .doOnNext(collector::accept)
        .takeUntil(message -> collector.isComplete())
        .then(Mono.fromCallable(() -> writeResults(collector, dump)));
  }

  private JobSummary writeResults(ResultCollector collector, @Nullable OutputFile dump)
      throws IOException {
    Histogram histogram = collector.histogram();
    if (options.histogram() != null) {
      try (OutputFile file = OutputFile.create(options.histogram())) {
        ResultCollector.write(histogram, file.stream());
        file.commit();
      }
    }
    if (dump != null) {
      dump.commit();
    }
    return new JobSummary(
        collector.kmers(), histogram.distinct(), seconds[0], seconds[1], collector.peakKib());
  }

  private Optional<OutputFile> createDump() throws IOException {
    return options.dump() == null
        ? Optional.empty()
        : Optional.of(OutputFile.create(options.dump()));
  }

  private static void closeDump(Optional<OutputFile> dump) {
    dump.ifPresent(
        file -> {
          try {
            file.close();
          } catch (IOException e) {
            throw new UncheckedIOException("the dump cannot be removed: " + e.getMessage(), e);
          }
        });
  }
}
