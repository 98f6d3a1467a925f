/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.error.PeerLeftException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import reactor.core.publisher.Mono;

/** The whole job over the real transport, ranks as threads. */
@Timeout(120)
@ExtendWith(LciLeakCheck.class)
class KmerJobInprocTest {
  private static final String CHAOS = "seed=11,delay=0.2,ticks=16,refuse=0.1,short=0.2";

  @TempDir Path folder;

  @ParameterizedTest
  @CsvSource({
    "1,1,31,true,''", "2,1,31,true,''", "4,1,31,true,''",
    "1,2,51,false,''", "2,2,51,true,''", "4,2,21,true,''",
    "2,1,51,true,chaos", "4,2,31,false,chaos"
  })
  void countsLikeTheReference(int ranks, int loops, int k, boolean canonical, String weather)
      throws IOException {
    List<String> reads = TestReads.make(3000, 21);
    Path file = TestReads.fastq(folder.resolve("a.fq.gz"), reads.subList(0, 1000));
    Path more = TestReads.fastq(folder.resolve("b.fq"), reads.subList(1000, 3000));
    Path histogram = folder.resolve("histogram");
    Path dump = folder.resolve("dump");
    KmerOptions options =
        new KmerOptions(
            new KmerShape(k, canonical),
            1 << 18,
            histogram.toString(),
            dump.toString(),
            List.of(file, more));

    try (LciTestJob job = LciTestJob.start(ranks, runtimeOptions(loops, weather))) {
      JobRunner.run(ranks(job, ranks), options);
    }

    Map<String, Long> expected = ReferenceCount.count(reads, k, canonical);
    assertThat(JobRunner.readHistogram(histogram)).isEqualTo(ReferenceCount.histogram(expected));
    expected.values().removeIf(count -> count < 2);
    assertThat(JobRunner.readDump(dump)).isEqualTo(expected);
  }

  @Test
  void departureOfARankEndsTheOthers() throws IOException {
    Path file = TestReads.fastq(folder.resolve("a.fq"), TestReads.make(100, 5));
    KmerOptions options =
        new KmerOptions(new KmerShape(31, true), 1 << 14, null, null, List.of(file));
    try (LciTestJob job = LciTestJob.start(2)) {
      Mono<JobSummary> first = JobRunner.start(job.rank(0), options);
      job.rank(1).close();
      assertThatThrownBy(() -> first.block(JobRunner.LIMIT))
          .isInstanceOf(PeerLeftException.class)
          .hasMessageContaining("rank 1");
    }
  }

  private static LciOptions runtimeOptions(int loops, String weather) {
    LciOptions.Builder builder = LciOptions.builder().loops(loops);
    return weather.isEmpty() ? builder.build() : builder.attribute("chaos", CHAOS).build();
  }

  private static List<LciRuntime> ranks(LciTestJob job, int ranks) {
    return IntStream.range(0, ranks).mapToObj(job::rank).toList();
  }
}
