/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.LciRuntime;
import io.lci.samples.kmer.common.JobProgress;
import io.lci.samples.kmer.common.KmerOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** Runs the job on ranks of this process and reads what it wrote. */
final class JobRunner {
  static final Duration LIMIT = Duration.ofSeconds(60);

  private JobRunner() {}

  /** All ranks at once; their summaries. */
  static List<JobSummary> run(List<LciRuntime> ranks, KmerOptions options) {
    List<Mono<JobSummary>> jobs = ranks.stream().map(rank -> start(rank, options)).toList();
    return jobs.stream().map(job -> job.block(LIMIT)).toList();
  }

  /** Starts one rank at once. */
  static Mono<JobSummary> start(LciRuntime lci, KmerOptions options) {
    return start(KmerJob.run(lci, options, new JobProgress()));
  }

  /** The same; the reason of a rank that leaves is awaited as long as a test may take. */
  static Mono<JobSummary> startPatiently(LciRuntime lci, KmerOptions options) {
    return start(KmerJob.run(lci, options, new JobProgress(), LIMIT));
  }

  private static Mono<JobSummary> start(Mono<JobSummary> job) {
    Mono<JobSummary> started = job.subscribeOn(Schedulers.boundedElastic()).cache();
    started.subscribe(summary -> {}, error -> {});
    return started;
  }

  static Map<Long, Long> readHistogram(Path file) throws IOException {
    Map<Long, Long> lines = new TreeMap<>();
    long last = 0;
    for (String line : Files.readAllLines(file)) {
      String[] parts = line.split("\t", -1);
      assertThat(Long.parseLong(parts[0])).as("ascending").isGreaterThan(last);
      last = Long.parseLong(parts[0]);
      lines.put(last, Long.parseLong(parts[1]));
    }
    return lines;
  }

  static Map<String, Long> readDump(Path file) throws IOException {
    return Files.readAllLines(file).stream()
        .map(line -> line.split("\t", -1))
        .collect(Collectors.toMap(parts -> parts[0], parts -> Long.parseLong(parts[1])));
  }
}
