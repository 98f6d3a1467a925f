/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.error.PeerFailedException;
import io.lci.samples.reads.BadInputException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import reactor.core.publisher.Mono;

/** The whole job over ranks in memory that deliver in random order. */
@Timeout(60)
class KmerJobTest {
  @TempDir Path folder;

  @ParameterizedTest
  @CsvSource({
    "1,1,21,true", "2,1,21,true", "4,1,21,true", "1,2,21,true", "2,2,21,false", "3,2,51,true",
    "2,1,51,false", "4,2,63,true", "2,1,32,true", "2,1,33,false", "2,1,1,true", "2,2,5,true"
  })
  void countsLikeTheReference(int ranks, int loops, int k, boolean canonical) throws IOException {
    List<String> reads = TestReads.make(400, 7);
    List<Path> files =
        List.of(
            TestReads.fastq(folder.resolve("a.fq"), reads.subList(0, 150)),
            TestReads.fastq(folder.resolve("b.fq.gz"), reads.subList(150, 300)),
            TestReads.fasta(folder.resolve("c.fa"), reads.subList(300, 400), 60, "\r\n"));
    Path histogram = folder.resolve("histogram");
    Path dump = folder.resolve("dump");
    KmerOptions options =
        new KmerOptions(
            new KmerShape(k, canonical), 1 << 14, histogram.toString(), dump.toString(), files);

    JobSummary summary = run(ranks, loops, options).get(0);

    Map<String, Long> expected = ReferenceCount.count(reads, k, canonical);
    assertThat(JobRunner.readHistogram(histogram)).isEqualTo(ReferenceCount.histogram(expected));
    expected.values().removeIf(count -> count < 2);
    assertThat(JobRunner.readDump(dump)).isEqualTo(expected);
    assertThat(summary.peakKib()).hasSize(ranks).doesNotContain(0L);
  }

  @Test
  void tinyFilterChangesNothing() throws IOException {
    List<String> reads = TestReads.make(300, 8);
    Path file = TestReads.fastq(folder.resolve("a.fq"), reads);
    Path histogram = folder.resolve("histogram");
    KmerOptions options =
        new KmerOptions(new KmerShape(31, true), 64, histogram.toString(), null, List.of(file));
    run(2, 1, options);
    assertThat(JobRunner.readHistogram(histogram))
        .isEqualTo(ReferenceCount.histogram(ReferenceCount.count(reads, 31, true)));
  }

  @Test
  void inputWithoutAnyKmerGivesAnEmptyHistogram() throws IOException {
    Path file = TestReads.fasta(folder.resolve("a.fa"), List.of("ACGT", "NNNNNNNN"), 60, "\n");
    Path histogram = folder.resolve("histogram");
    KmerOptions options =
        new KmerOptions(new KmerShape(31, true), 64, histogram.toString(), null, List.of(file));
    JobSummary summary = run(2, 1, options).get(0);
    assertThat(histogram).hasContent("");
    assertThat(summary.kmers()).isZero();
  }

  @Test
  void deathOfARankEndsTheJobAndNamesIt() throws IOException {
    Path file = TestReads.fastq(folder.resolve("a.fq"), TestReads.make(100, 9));
    KmerOptions options =
        new KmerOptions(
            new KmerShape(31, true),
            1 << 14,
            folder.resolve("histogram").toString(),
            folder.resolve("dump").toString(),
            List.of(file));
    try (FakeJob job = new FakeJob(3, 1, 1)) {
      // Rank 2 never starts, so the others wait for it.
      Mono<JobSummary> first = JobRunner.start(job.rank(0), options);
      Mono<JobSummary> second = JobRunner.start(job.rank(1), options);
      job.kill(2);
      for (Mono<JobSummary> rank : List.of(first, second)) {
        assertThatThrownBy(() -> rank.block(JobRunner.LIMIT))
            .isInstanceOf(PeerFailedException.class)
            .hasMessageContaining("rank 2");
      }
    }
    assertThat(filesIn(folder)).containsExactly("a.fq");
  }

  @Test
  void damagedInputEndsAllRanksAndLeavesNothing() throws IOException {
    Path file = folder.resolve("a.fq");
    Files.writeString(file, "@r\nACGTACGTACGT\n+\nIIII\n");
    KmerOptions options =
        new KmerOptions(
            new KmerShape(5, true),
            1 << 14,
            folder.resolve("histogram").toString(),
            folder.resolve("dump").toString(),
            List.of(file));
    try (FakeJob job = new FakeJob(1, 1, 1)) {
      assertThatThrownBy(() -> JobRunner.start(job.rank(0), options).block(JobRunner.LIMIT))
          .isInstanceOf(BadInputException.class)
          .hasMessageContaining("a.fq");
    }
    assertThat(filesIn(folder)).containsExactly("a.fq");
  }

  @Test
  void whatAnotherRankSaysBeforeItGivesUpEndsTheJob() throws IOException {
    Path file = TestReads.fastq(folder.resolve("a.fq"), TestReads.make(100, 9));
    KmerOptions options =
        new KmerOptions(new KmerShape(31, true), 1 << 14, null, null, List.of(file));
    try (FakeJob job = new FakeJob(2, 1, 1)) {
      Mono<JobSummary> first = JobRunner.start(job.rank(0), options);
      new AbortLine(job.rank(1)).tell("b.fq: is empty", JobRunner.LIMIT);
      assertThatThrownBy(() -> first.block(JobRunner.LIMIT))
          .isInstanceOf(AbortedException.class)
          .hasMessage("b.fq: is empty");
    }
  }

  private static List<JobSummary> run(int ranks, int loops, KmerOptions options) {
    try (FakeJob job = new FakeJob(ranks, loops, 42)) {
      return JobRunner.run(IntStream.range(0, ranks).mapToObj(job::rank).toList(), options);
    }
  }

  private static List<String> filesIn(Path folder) throws IOException {
    try (var files = Files.list(folder)) {
      return files.map(f -> f.getFileName().toString()).sorted().toList();
    }
  }
}
