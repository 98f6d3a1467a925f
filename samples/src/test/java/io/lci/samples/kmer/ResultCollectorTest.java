/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.samples.kmer.common.KmerOptions;
import io.lci.samples.kmer.common.KmerShape;
import io.lci.samples.kmer.common.ResultMessage;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ResultCollectorTest {
  private static final KmerOptions.Form ONE = new KmerOptions.OnePass(64, 1, Path.of("."));
  private static final KmerOptions.Form TWO = new KmerOptions.TwoPass(64);

  private static ResultCollector collector(KmerOptions.Form form) {
    KmerShape shape = new KmerShape(31, true);
    return new ResultCollector(2, new KmerOptions(shape, form, null, null, List.of()), null);
  }

  private static ResultMessage lines(long... words) {
    return new ResultMessage(ResultMessage.HISTOGRAM, words, words.length);
  }

  /** Three k-mers that occur twice, one five times; {@code once} of them once. */
  private static ResultCollector told(KmerOptions.Form form, long once, long kmers) {
    ResultCollector collector = collector(form);
    collector.accept(0, lines(2, 1, 5, 1));
    collector.accept(1, once == 0 ? lines(2, 2) : lines(1, once, 2, 2));
    collector.accept(0, ResultMessage.summary(4));
    collector.accept(1, ResultMessage.summary(kmers - 4));
    return collector;
  }

  @Test
  void twoPassesLeaveThoseThatOccurOnce() {
    assertThat(told(TWO, 0, 18).histogram().lines()).isEqualTo(Map.of(1L, 7L, 2L, 3L, 5L, 1L));
    assertThatThrownBy(() -> told(TWO, 0, 10).histogram()).hasMessageContaining("1 k-mers more");
  }

  @Test
  void onePassCountsThemAll() {
    ResultCollector collector = told(ONE, 7, 18);
    assertThat(collector.histogram().lines()).isEqualTo(Map.of(1L, 7L, 2L, 3L, 5L, 1L));
    assertThat(collector.kmers()).isEqualTo(18);
    assertThat(collector.peakKib()).hasSize(2).doesNotContain(0L);
    for (long lost : new long[] {17, 19}) {
      assertThatThrownBy(() -> told(ONE, 7, lost).histogram())
          .hasMessage("counted 18 k-mers, read were " + lost);
    }
  }

  @Test
  void resultsThatWereNotAskedForAreRefused() {
    ResultCollector collector = collector(ONE);
    assertThatThrownBy(
            () -> collector.accept(1, new ResultMessage(ResultMessage.ENTRIES, new long[3], 3)))
        .hasMessageContaining("rank 1");
    assertThatThrownBy(() -> collector.accept(1, new ResultMessage(9, new long[0], 0)))
        .hasMessageContaining("kind 9");
  }
}
