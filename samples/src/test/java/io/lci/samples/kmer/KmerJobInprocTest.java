/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.LciOptions;
import io.lci.PeerEvent;
import io.lci.error.CollectiveFailedException;
import io.lci.error.PeerFailedException;
import io.lci.error.PeerLeftException;
import io.lci.samples.kmer.common.KmerOptions;
import io.lci.samples.kmer.common.KmerShape;
import io.lci.samples.reads.BadInputException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** The whole job over the real transport, ranks as threads. */
@Timeout(120)
@ExtendWith(LciLeakCheck.class)
class KmerJobInprocTest {
  private static final String CHAOS = "seed=11,delay=0.2,ticks=16,refuse=0.1,short=0.2";

  @TempDir Path folder;

  /** One pass, one that spills again and again, or two. */
  private KmerOptions.Form form(String name) {
    return switch (name) {
      case "one" -> new KmerOptions.OnePass(64, 1 << 30, folder);
      case "spill" -> new KmerOptions.OnePass(64, 20_000, folder);
      default -> new KmerOptions.TwoPass(1 << 18);
    };
  }

  private KmerOptions options(int k, boolean canonical, String form, Path... files) {
    return new KmerOptions(
        new KmerShape(k, canonical),
        form(form),
        folder.resolve("histogram").toString(),
        folder.resolve("dump").toString(),
        List.of(files));
  }

  @ParameterizedTest(name = "{4}: {0} ranks, {1} loops, k {2}, canonical {3}, {5}")
  @CsvSource({
    "1,1,31,true,one,''",
    "2,1,31,true,one,''",
    "4,1,31,true,one,''",
    "1,2,51,false,one,''",
    "2,2,51,true,one,''",
    "3,2,21,true,one,''",
    "2,1,63,true,one,''",
    "2,1,32,true,one,''",
    "2,1,33,false,one,''",
    "2,1,1,true,one,''",
    "2,2,5,true,one,''",
    "2,1,2,false,one,''",
    "2,1,51,true,one,chaos",
    "4,2,31,false,one,chaos",
    "1,1,31,true,spill,''",
    "2,1,31,true,spill,''",
    "3,2,51,true,spill,chaos",
    "2,1,31,true,two,''",
    "2,2,51,true,two,''",
    "4,2,31,false,two,chaos"
  })
  void countsLikeTheReference(
      int ranks, int loops, int k, boolean canonical, String form, String weather)
      throws IOException {
    List<String> reads = TestReads.make(3000, 21);
    Path file = TestReads.fastq(folder.resolve("a.fq.gz"), reads.subList(0, 1000));
    Path more = TestReads.fastq(folder.resolve("b.fq"), reads.subList(1000, 2000));
    Path last = TestReads.fasta(folder.resolve("c.fa"), reads.subList(2000, 3000), 60, "\r\n");

    List<JobSummary> summaries;
    try (LciTestJob job = LciTestJob.start(ranks, runtimeOptions(loops, weather))) {
      summaries = JobRunner.run(job.ranks(), options(k, canonical, form, file, more, last));
    }

    Map<String, Long> expected = ReferenceCount.count(reads, k, canonical);
    assertThat(JobRunner.readHistogram(folder.resolve("histogram")))
        .isEqualTo(ReferenceCount.histogram(expected));
    assertThat(summaries.get(0).distinct()).isEqualTo(expected.size());
    assertThat(summaries.get(0).peakKib()).hasSize(ranks).doesNotContain(0L);
    assertThat(summaries).allSatisfy(summary -> assertThat(summary.seconds()).hasSize(2));
    expected.values().removeIf(count -> count < 2);
    assertThat(JobRunner.readDump(folder.resolve("dump"))).isEqualTo(expected);
    assertThat(files()).containsExactlyInAnyOrder("a.fq.gz", "b.fq", "c.fa", "dump", "histogram");
  }

  @ParameterizedTest
  @ValueSource(strings = {"one", "two"})
  void inputWithoutAnyKmerGivesAnEmptyHistogram(String form) throws IOException {
    Path file = TestReads.fasta(folder.resolve("a.fa"), List.of("ACGT", "NNNNNNNN"), 60, "\n");
    try (LciTestJob job = LciTestJob.start(2)) {
      List<JobSummary> done = JobRunner.run(job.ranks(), options(31, true, form, file));
      assertThat(done.get(0).kmers()).isZero();
    }
    assertThat(folder.resolve("histogram")).hasContent("");
  }

  @ParameterizedTest
  @ValueSource(strings = {"one", "two"})
  void departureOfARankEndsTheOthers(String form) throws IOException {
    Path file = TestReads.fastq(folder.resolve("a.fq"), TestReads.make(100, 5));
    try (LciTestJob job = LciTestJob.start(2)) {
      Mono<JobSummary> first = JobRunner.start(job.rank(0), options(31, true, form, file));
      job.rank(1).close();
      assertThatThrownBy(() -> first.block(JobRunner.LIMIT))
          .isInstanceOf(PeerLeftException.class)
          .hasMessageContaining("rank 1");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"one", "two"})
  void deathOfARankEndsTheOthersAndNamesIt(String form) throws IOException {
    Path file = TestReads.fastq(folder.resolve("a.fq"), TestReads.make(100, 9));
    try (LciTestJob job = LciTestJob.start(3)) {
      // Rank 2 never starts, so the others wait for it.
      Mono<JobSummary> first = JobRunner.start(job.rank(0), options(31, true, form, file));
      Mono<JobSummary> second = JobRunner.start(job.rank(1), options(31, true, form, file));
      job.rank(2).abort();
      for (Mono<JobSummary> rank : List.of(first, second)) {
        assertThatThrownBy(() -> rank.block(JobRunner.LIMIT))
            .isInstanceOf(PeerFailedException.class)
            .hasMessageContaining("rank 2");
      }
    }
    assertThat(files()).containsExactly("a.fq");
  }

  /** Rank 1 leaves for the same reason, and its word comes first. */
  @Test
  void aDeathIsNamedThatComesAfterADeparture() throws IOException {
    Path file = TestReads.fastq(folder.resolve("a.fq"), TestReads.make(100, 5));
    try (LciTestJob job = LciTestJob.start(3)) {
      job.rank(0)
          .peerEvents()
          .filter(event -> event.state() == PeerEvent.State.LEFT)
          .next()
          .publishOn(Schedulers.boundedElastic())
          .subscribe(left -> job.rank(2).abort());
      Mono<JobSummary> first =
          JobRunner.startPatiently(job.rank(0), options(31, true, "one", file));
      job.rank(1).close();
      assertThatThrownBy(() -> first.block(JobRunner.LIMIT))
          .isInstanceOf(PeerFailedException.class)
          .hasMessageContaining("rank 2");
    }
  }

  /** Each rank has files of its own: those of the last one are damaged, or are not there. */
  @ParameterizedTest
  @CsvSource({"one,0", "one,2", "two,0", "two,2"})
  void whatIsWrongOnOneRankEndsAllWithItsReason(String form, int bad) throws IOException {
    Path good = TestReads.fastq(folder.resolve("good.fq"), TestReads.make(100, 9));
    Path damaged = folder.resolve("damaged.fq");
    String text = Files.readString(good);
    int last = text.lastIndexOf("\n+\n");
    Files.writeString(
        damaged,
        text.substring(0, last).replaceFirst("\n\\+\n", "\n-\n")
            + "\n-\n"
            + text.substring(last + 3));
    for (Path wrong : List.of(damaged, folder.resolve("missing.fq"))) {
      try (LciTestJob job = LciTestJob.start(3)) {
        List<Mono<JobSummary>> ranks = startAll(job, form, bad, wrong, good);
        for (int rank = 0; rank < 3; rank++) {
          Mono<JobSummary> done = ranks.get(rank);
          assertThatThrownBy(() -> done.block(JobRunner.LIMIT))
              .isInstanceOf(rank == bad ? BadInputException.class : CollectiveFailedException.class)
              .hasMessageContaining(wrong.toString());
        }
      }
    }
    assertThat(files()).containsExactlyInAnyOrder("good.fq", "damaged.fq");
  }

  /** One of the ranks has a file of its own. */
  private List<Mono<JobSummary>> startAll(
      LciTestJob job, String form, int one, Path its, Path others) {
    return job.ranks().stream()
        .map(lci -> JobRunner.start(lci, options(5, true, form, lci.rank() == one ? its : others)))
        .toList();
  }

  /** As when somebody still writes to the file. */
  @ParameterizedTest
  @CsvSource({"one,0", "one,2", "two,1"})
  void readsOfDifferentSizesAreRefusedByAll(String form, int other) throws IOException {
    List<String> reads = TestReads.make(100, 9);
    Path file = TestReads.fastq(folder.resolve("a.fq"), reads);
    Path longer = TestReads.fastq(folder.resolve("b.fq"), TestReads.make(200, 9));
    try (LciTestJob job = LciTestJob.start(3)) {
      List<Mono<JobSummary>> ranks = startAll(job, form, other, longer, file);
      for (Mono<JobSummary> rank : ranks) {
        assertThatThrownBy(() -> rank.block(JobRunner.LIMIT))
            .isInstanceOfAny(BadInputException.class, CollectiveFailedException.class)
            .hasMessageContaining("from " + Files.size(file) + " to " + Files.size(longer));
      }
    }
  }

  @Test
  void aResultThatCannotBeWrittenEndsAllRanks() throws IOException {
    Path file = TestReads.fastq(folder.resolve("a.fq"), TestReads.make(100, 9));
    KmerOptions options =
        new KmerOptions(
            new KmerShape(31, true),
            form("one"),
            folder.resolve("none").resolve("histogram").toString(),
            null,
            List.of(file));
    try (LciTestJob job = LciTestJob.start(2)) {
      List<Mono<JobSummary>> ranks =
          job.ranks().stream().map(lci -> JobRunner.start(lci, options)).toList();
      assertThatThrownBy(() -> ranks.get(0).block(JobRunner.LIMIT)).hasMessageContaining("none");
      assertThatThrownBy(() -> ranks.get(1).block(JobRunner.LIMIT))
          .isInstanceOf(CollectiveFailedException.class)
          .hasMessageContaining("rank 0");
    }
  }

  private List<String> files() throws IOException {
    try (var files = Files.list(folder)) {
      return files.map(f -> f.getFileName().toString()).sorted().toList();
    }
  }

  private static LciOptions runtimeOptions(int loops, String weather) {
    LciOptions.Builder builder = LciOptions.builder().loops(loops);
    return weather.isEmpty() ? builder.build() : builder.attribute("chaos", CHAOS).build();
  }
}
