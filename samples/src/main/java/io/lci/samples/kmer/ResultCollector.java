/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer;

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
  private final int ranks;
  private final int k;
  private final @Nullable OutputStream dump;
  private final Histogram histogram = new Histogram();
  private final StringBuilder line = new StringBuilder();
  private final long[] peakKib;
  private long expected;
  private long got;
  private int ended;
  private long kmers;

  ResultCollector(int ranks, int k, @Nullable OutputStream dump) {
    this.ranks = ranks;
    this.k = k;
    this.dump = dump;
    this.peakKib = new long[ranks];
  }

  void accept(ResultMessage message) {
    switch (message.kind()) {
      case ResultMessage.HISTOGRAM -> addLines(message);
      case ResultMessage.ENTRIES -> writeEntries(message);
      case ResultMessage.END -> end(message);
      default ->
          throw new IllegalStateException(
              "rank " + message.rank() + " sent a result of unknown kind " + message.kind());
    }
  }

  /** Everything of every rank has come. */
  boolean isComplete() {
    return ended == ranks && got == expected;
  }

  /** The whole histogram; once complete. */
  Histogram histogram() {
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
    got++;
    for (int i = 0; i < message.count(); i += 2) {
      histogram.add(message.words()[i], message.words()[i + 1]);
    }
  }

  private void writeEntries(ResultMessage message) {
    got++;
    if (dump == null) {
      throw new IllegalStateException("rank " + message.rank() + " sent k-mers unasked");
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

  private void end(ResultMessage message) {
    ended++;
    expected += message.words()[0];
    kmers += message.words()[1];
    peakKib[message.rank()] = message.words()[2];
  }
}
