/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.onepass;

import io.lci.samples.kmer.common.Kmers;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/** Sequences as codes and as letters, and what a table of them holds. */
final class Model {
  private Model() {}

  /** As many sequences, of few bases every other time, so that k-mers come again. */
  static List<byte[]> sequences(int count, int most, long seed) {
    Random random = new Random(seed);
    List<byte[]> all = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      byte[] codes = new byte[2048];
      for (int j = 0; j < codes.length; j++) {
        codes[j] = (byte) random.nextInt(i % 2 == 0 ? 4 : 2);
      }
      all.add(Arrays.copyOf(codes, 1 + random.nextInt(most)));
    }
    return all;
  }

  static String letters(byte[] codes) {
    StringBuilder text = new StringBuilder();
    for (byte code : codes) {
      text.append("ACGT".charAt(code));
    }
    return text.toString();
  }

  /** Adds what the counter counted last. */
  static void addTo(Map<String, Long> counts, PartitionCounter counter, int k) {
    counter
        .table()
        .forEach((high, low, count) -> counts.merge(text(high, low, k), count, Long::sum));
  }

  private static String text(long high, long low, int k) {
    StringBuilder text = new StringBuilder();
    Kmers.letters(high, low, k, text);
    return text.toString();
  }

  static Map<String, Long> empty() {
    return new TreeMap<>();
  }
}
