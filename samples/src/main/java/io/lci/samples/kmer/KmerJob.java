/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer;

import io.lci.LciRuntime;
import io.lci.PeerEvent;
import io.lci.collective.ReduceOp;
import io.lci.collective.Sourced;
import io.lci.error.CollectiveFailedException;
import io.lci.error.LciException;
import io.lci.error.PeerFailedException;
import io.lci.error.PeerLeftException;
import io.lci.samples.kmer.common.Histogram;
import io.lci.samples.kmer.common.JobProgress;
import io.lci.samples.kmer.common.KmerOptions;
import io.lci.samples.kmer.common.ResultMessage;
import io.lci.samples.kmer.onepass.OnePass;
import io.lci.samples.kmer.twopass.TwoPass;
import io.lci.samples.reads.SequenceReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/**
 * Counts the k-mers of a job's reads, as one of its ranks. Its results are the source of a gather,
 * which begins with the job: so whatever ends one rank ends all of them, with its reason.
 */
final class KmerJob {
  private static final Duration REASON_LIMIT = Duration.ofSeconds(1);

  private final LciRuntime lci;
  private final KmerOptions options;
  private final JobProgress progress;
  private final Scheduler workers;
  private final Duration reasonLimit;

  private KmerJob(
      LciRuntime lci,
      KmerOptions options,
      JobProgress progress,
      Scheduler workers,
      Duration reasonLimit) {
    this.lci = lci;
    this.options = options;
    this.progress = progress;
    this.workers = workers;
    this.reasonLimit = reasonLimit;
  }

  /**
   * Runs the job.
   *
   * @return emits what was done, complete on rank 0 only; all ranks complete together
   */
  static Mono<JobSummary> run(LciRuntime lci, KmerOptions options, JobProgress progress) {
    return run(lci, options, progress, REASON_LIMIT);
  }

  /**
   * The same.
   *
   * @param reasonLimit how long it waits for the reason of a rank that has left
   */
  static Mono<JobSummary> run(
      LciRuntime lci, KmerOptions options, JobProgress progress, Duration reasonLimit) {
    return Mono.using(
        () -> workers(lci),
        workers -> new KmerJob(lci, options, progress, workers, reasonLimit).work(),
        Scheduler::dispose);
  }

  private static Scheduler workers(LciRuntime lci) {
    int threads = 2 * lci.loops().size() + 1; // to read, to wait for a disk; to write results
    return Schedulers.newBoundedElastic(threads, Integer.MAX_VALUE, "kmer-worker", 60, true);
  }

  private Mono<JobSummary> work() {
    return Mono.using(this::createDump, dump -> gather(dump.orElse(null)), KmerJob::closeDump)
        .doOnError(this::tellOthers)
        .flatMap(this::leaveTogether)
        .onErrorResume(PeerLeftException.class, this::reasonToLeave);
  }

  /** None leaves before the results are there. Then a death is no failure of the job any more. */
  private Mono<JobSummary> leaveTogether(JobSummary summary) {
    Mono<Void> all = lci.world().barrier();
    Mono<Void> wanted = lci.rank() == 0 ? all.onErrorComplete(PeerFailedException.class) : all;
    return wanted.thenReturn(summary);
  }

  private Mono<JobSummary> gather(@Nullable OutputFile dump) {
    ResultCollector collector =
        new ResultCollector(lci.size(), options, dump == null ? null : dump.stream());
    Flux<Sourced<ResultMessage>> all =
        lci.world().streams().gather(0, results(), ResultMessage.CODEC);
    return all.publishOn(workers)
        .doOnNext(result -> collector.accept(result.member(), result.item()))
        .then(Mono.fromCallable(() -> lci.rank() == 0 ? write(collector, dump) : nothing()));
  }

  /** What this rank counts. Another rank's failure comes by the gather. */
  private Flux<ResultMessage> results() {
    return Mono.fromRunnable(() -> options.files().forEach(SequenceReader::check))
        .subscribeOn(workers)
        .then(seeTheSame().onErrorResume(KmerJob::isGone, gone -> Mono.never()))
        .thenMany(counted())
        .onErrorResume(CollectiveFailedException.class, ofAnother -> Flux.never());
  }

  /** Each rank reads its share of the bytes: of files that differ, some would be read by nobody. */
  private Mono<Void> seeTheSame() {
    return Mono.defer(
        () -> {
          ReadsOfAll reads = new ReadsOfAll(options.files());
          return lci.world().allReduce(reads.bounds(), ReduceOp.MAX).doOnNext(reads::check).then();
        });
  }

  private static boolean isGone(Throwable error) {
    return error instanceof PeerFailedException || error instanceof PeerLeftException;
  }

  private Flux<ResultMessage> counted() {
    return Flux.defer(
        () -> counted(options.files().stream().mapToLong(KmerJob::fileSize).sum() / lci.size()));
  }

  static long fileSize(Path file) {
    try {
      return Files.size(file);
    } catch (IOException e) {
      throw new UncheckedIOException(file + ": " + e.getMessage(), e);
    }
  }

  /** Of reads of which this rank reads so many bytes. */
  private Flux<ResultMessage> counted(long bytes) {
    if (options.form() instanceof KmerOptions.OnePass form) {
      return Flux.using(
          () -> new OnePass(lci, options, form, bytes, workers, progress),
          OnePass::results,
          OnePass::dispose);
    }
    KmerOptions.TwoPass form = (KmerOptions.TwoPass) options.form();
    return Flux.using(
        () -> new TwoPass(lci, options, form, bytes, workers, progress),
        TwoPass::results,
        TwoPass::dispose);
  }

  /** What went wrong beside the gather: the others may wait in it, or for the end. */
  private void tellOthers(Throwable error) {
    if (!(error instanceof LciException)) {
      lci.world().revoke(String.valueOf(error.getMessage()));
    }
  }

  /**
   * A rank that leaves early has a reason, such as the death of another. The event that tells it is
   * only a moment away.
   */
  private Mono<JobSummary> reasonToLeave(PeerLeftException left) {
    Mono<JobSummary> death =
        lci.peerEvents()
            .filter(event -> event.state() == PeerEvent.State.FAILED)
            .next()
            .flatMap(event -> Mono.<JobSummary>error(died(event.rank())))
            .switchIfEmpty(Mono.never());
    return Mono.firstWithSignal(death, Mono.delay(reasonLimit).then(Mono.error(left)));
  }

  private static PeerFailedException died(int rank) {
    return new PeerFailedException(
        new LciException.Detail(
            "kmer",
            rank,
            LciException.NONE,
            LciException.NONE,
            "error_peer_failed",
            "rank " + rank + " died before the job was done"));
  }

  private JobSummary write(ResultCollector collector, @Nullable OutputFile dump)
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
        collector.kmers(), histogram.distinct(), progress.seconds(), collector.peakKib());
  }

  private JobSummary nothing() {
    return new JobSummary(0, 0, progress.seconds(), List.of());
  }

  private Optional<OutputFile> createDump() throws IOException {
    return options.dump() == null || lci.rank() != 0
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
