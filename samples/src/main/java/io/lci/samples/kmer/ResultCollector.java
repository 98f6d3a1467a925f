/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer;

import io.lci.samples.kmer.common.Histogram;
import io.lci.samples.kmer.common.KmerOptions;
import io.lci.samples.kmer.common.Kmers;
import io.lci.samples.kmer.common.ResultMessage;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Rank 0's side: joins the results of all ranks, whatever the order they come in. */
final class ResultCollector {
  /** Whether the histogram has all k-mers, also those that occur once. */
  private final boolean allCounted;

  private final int k;
  private final @Nullable OutputStream dump;
  private final Histogram histogram = new Histogram();
  private final StringBuilder line = new StringBuilder();
  private final long[] peakKib;
  private long kmers;

  ResultCollector(int ranks, KmerOptions options, @Nullable OutputStream dump) {
    this.allCounted = options.form() instanceof KmerOptions.OnePass;
    this.k = options.shape().k();
    this.dump = dump;
    this.peakKib = new long[ranks];
  }

  void accept(int rank, ResultMessage message) {
    switch (message.kind()) {
      case ResultMessage.HISTOGRAM -> addLines(message);
      case ResultMessage.ENTRIES -> writeEntries(rank, message);
      case ResultMessage.SUMMARY -> addSummary(rank, message);
      default ->
          throw new IllegalStateException(
              "rank " + rank + " sent a result of unknown kind " + message.kind());
    }
  }

  /** The whole histogram; once all has come. */
  Histogram histogram() {
    if (allCounted && histogram.occurrences() != kmers) {
      throw new IllegalStateException(
          "counted " + histogram.occurrences() + " k-mers, read were " + kmers);
    }
    histogram.complete(kmers);
    return histogram;
  }

  long kmers() {
    return kmers;
  }

  List<Long> peakKib() {
    return Arrays.stream(peakKib).boxed().toList();
  }

  static void write(Histogram histogram, OutputStream out) throws IOException {
    StringBuilder text = new StringBuilder();
    for (Map.Entry<Long, Long> e : histogram.lines().entrySet()) {
      text.append(e.getKey()).append('\t').append(e.getValue()).append('\n');
    }
    out.write(text.toString().getBytes(StandardCharsets.US_ASCII));
  }

  private void addLines(ResultMessage message) {
    for (int i = 0; i < message.count(); i += 2) {
      histogram.add(message.words()[i], message.words()[i + 1]);
    }
  }

  private void writeEntries(int rank, ResultMessage message) {
    if (dump == null) {
      throw new IllegalStateException("rank " + rank + " sent k-mers unasked");
    }
    line.setLength(0);
    for (int i = 0; i < message.count(); i += 3) {
      Kmers.letters(message.words()[i], message.words()[i + 1], k, line);
      line.append('\t').append(message.words()[i + 2]).append('\n');
    }
    try {
      dump.write(line.toString().getBytes(StandardCharsets.US_ASCII));
    } catch (IOException e) {
      throw new UncheckedIOException("the dump cannot be written: " + e.getMessage(), e);
    }
  }

  private void addSummary(int rank, ResultMessage message) {
    kmers += message.words()[0];
    peakKib[rank] = message.words()[1];
  }
}
