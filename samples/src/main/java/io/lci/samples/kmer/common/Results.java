/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.common;

import java.util.List;
import java.util.Map;
import reactor.core.publisher.Flux;

/** Histograms and tables as messages, made only as fast as they are asked for. */
public final class Results {
  private Results() {}

  /** {@return the lines of a histogram} */
  public static Flux<ResultMessage> of(Histogram histogram) {
    return Flux.fromIterable(histogram.lines().entrySet())
        .buffer(ResultMessage.MAX_WORDS / 2)
        .map(Results::pairs);
  }

  /**
   * {@return the k-mers of a table that occur more than once} It must not change meanwhile.
   *
   * @param table theirs
   */
  public static Flux<ResultMessage> repeated(CountTable table) {
    return Flux.generate(
        table::repeated,
        (cursor, sink) -> {
          long[] words = new long[ResultMessage.MAX_WORDS];
          int count = cursor.next(words);
          if (count == 0) {
            sink.complete();
          } else {
            sink.next(new ResultMessage(ResultMessage.ENTRIES, words, count));
          }
          return cursor;
        });
  }

  private static ResultMessage pairs(List<Map.Entry<Long, Long>> lines) {
    long[] words = new long[2 * lines.size()];
    int at = 0;
    for (Map.Entry<Long, Long> line : lines) {
      words[at++] = line.getKey();
      words[at++] = line.getValue();
    }
    return new ResultMessage(ResultMessage.HISTOGRAM, words, at);
  }
}
