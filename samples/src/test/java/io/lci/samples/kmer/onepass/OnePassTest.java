/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.onepass;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.samples.kmer.TestReads;
import io.lci.samples.kmer.common.JobProgress;
import io.lci.samples.kmer.common.KmerOptions;
import io.lci.samples.kmer.common.KmerShape;
import io.lci.samples.kmer.common.ResultMessage;
import io.lci.testing.LciTestJob;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/** One rank's pass, with the threads that a test gives it. */
class OnePassTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  @TempDir Path folder;

  /**
   * Memory is full at once, and more is read than a stream has room for: the reader waits for a
   * spill, which has one thread that nobody else may hold meanwhile.
   */
  @Test
  void aSpillDoesNotWaitForTheReaderThatWaitsForIt() throws IOException {
    Path file = TestReads.fastq(folder.resolve("a.fq"), TestReads.make(30_000, 7));
    KmerOptions.OnePass form = new KmerOptions.OnePass(64, 20_000, folder);
    KmerOptions options = new KmerOptions(new KmerShape(31, true), form, null, null, List.of(file));
    Scheduler one = Schedulers.newSingle("kmer-only", true);
    try (LciTestJob job = LciTestJob.start(1)) {
      OnePass pass =
          new OnePass(job.rank(0), options, form, Files.size(file), one, new JobProgress());
      Mono<List<ResultMessage>> results = pass.results().collectList();
      try {
        assertThat(results.block(LIMIT)).anyMatch(r -> r.kind() == ResultMessage.SUMMARY);
      } finally {
        pass.dispose();
      }
    } finally {
      one.dispose();
    }
  }
}
