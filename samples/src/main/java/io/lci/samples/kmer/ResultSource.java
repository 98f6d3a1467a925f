/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer;

import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import reactor.core.publisher.Flux;

/** One rank's results as messages, made only as fast as they are asked for. */
final class ResultSource {
  private final int rank;
  private final List<CountTable> tables;
  private final long received;
  private final boolean withEntries;
  private final AtomicLong sent = new AtomicLong();

  ResultSource(int rank, List<CountTable> tables, long received, boolean withEntries) {
    this.rank = rank;
    this.tables = tables;
    this.received = received;
    this.withEntries = withEntries;
  }

  /** Histogram, k-mers if wanted, and the end. For one subscriber. */
  Flux<ResultMessage> messages() {
    Flux<ResultMessage> entries =
        withEntries ? Flux.fromIterable(tables).concatMap(this::entries, 1) : Flux.empty();
    return Flux.concat(Flux.defer(this::histogram), entries)
        .doOnNext(message -> sent.incrementAndGet())
        .concatWith(Flux.defer(() -> Flux.just(end())));
  }

  private Flux<ResultMessage> histogram() {
    Histogram histogram = new Histogram();
    tables.forEach(histogram::add);
    return Flux.fromIterable(histogram.lines().entrySet())
        .buffer(ResultMessage.MAX_WORDS / 2)
        .map(this::pairs);
  }

  private ResultMessage pairs(List<Map.Entry<Long, Long>> lines) {
    long[] words = new long[2 * lines.size()];
    int at = 0;
    for (Map.Entry<Long, Long> line : lines) {
      words[at++] = line.getKey();
      words[at++] = line.getValue();
    }
    return new ResultMessage(rank, ResultMessage.HISTOGRAM, words, at);
  }

  private Flux<ResultMessage> entries(CountTable table) {
    return Flux.generate(
        table::repeated,
        (cursor, sink) -> {
          long[] words = new long[ResultMessage.MAX_WORDS];
          int count = cursor.next(words);
          if (count == 0) {
            sink.complete();
          } else {
            sink.next(new ResultMessage(rank, ResultMessage.ENTRIES, words, count));
          }
          return cursor;
        });
  }

  private ResultMessage end() {
    long[] words = {sent.get(), received, PeakMemory.kib()};
    return new ResultMessage(rank, ResultMessage.END, words, words.length);
  }
}
