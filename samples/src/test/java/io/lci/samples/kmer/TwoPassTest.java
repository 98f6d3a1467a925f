/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.LciRuntime;
import io.lci.samples.kmer.common.JobProgress;
import io.lci.samples.kmer.common.KmerOptions;
import io.lci.samples.kmer.common.KmerShape;
import io.lci.samples.kmer.common.ResultMessage;
import io.lci.samples.kmer.twopass.TwoPass;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import reactor.core.publisher.Flux;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/** The two passes over ranks in memory that deliver in random order. */
@Timeout(60)
class TwoPassTest {
  @TempDir Path folder;

  private final ByteArrayOutputStream dump = new ByteArrayOutputStream();

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

    ResultCollector results = run(ranks, loops, new KmerShape(k, canonical), 1 << 14, files);

    Map<String, Long> expected = ReferenceCount.count(reads, k, canonical);
    assertThat(results.histogram().lines()).isEqualTo(ReferenceCount.histogram(expected));
    expected.values().removeIf(count -> count < 2);
    assertThat(dumped()).isEqualTo(expected);
  }

  @Test
  void tinyFilterChangesNothing() throws IOException {
    List<String> reads = TestReads.make(300, 8);
    Path file = TestReads.fastq(folder.resolve("a.fq"), reads);
    ResultCollector results = run(2, 1, new KmerShape(31, true), 64, List.of(file));
    assertThat(results.histogram().lines())
        .isEqualTo(ReferenceCount.histogram(ReferenceCount.count(reads, 31, true)));
  }

  private Map<String, Long> dumped() {
    return dump.toString(StandardCharsets.US_ASCII)
        .lines()
        .map(line -> line.split("\t", -1))
        .collect(Collectors.toMap(parts -> parts[0], parts -> Long.parseLong(parts[1])));
  }

  private ResultCollector run(
      int ranks, int loops, KmerShape shape, long bloomBits, List<Path> files) {
    KmerOptions.TwoPass form = new KmerOptions.TwoPass(bloomBits);
    KmerOptions options = new KmerOptions(shape, form, null, "-", files);
    ResultCollector collector = new ResultCollector(ranks, options, dump);
    Scheduler readers = Schedulers.newBoundedElastic(loops * ranks, 64, "test-reader", 60, true);
    try (FakeJob job = new FakeJob(ranks, loops, 42)) {
      Flux.fromStream(IntStream.range(0, ranks).boxed())
          .flatMap(rank -> results(job.rank(rank), options, form, readers), ranks)
          .doOnNext(result -> collector.accept(0, result))
          .blockLast(JobRunner.LIMIT);
    } finally {
      readers.dispose();
    }
    return collector;
  }

  private static Flux<ResultMessage> results(
      LciRuntime lci, KmerOptions options, KmerOptions.TwoPass form, Scheduler readers) {
    return Flux.using(
            () -> new TwoPass(lci, options, form, 1, readers, new JobProgress()),
            TwoPass::results,
            TwoPass::dispose)
        .subscribeOn(Schedulers.boundedElastic());
  }
}
