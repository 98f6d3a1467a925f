/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The same job in the plainest way: strings in a map. */
public final class ReferenceCount {
  private ReferenceCount() {}

  public static Map<String, Long> count(List<String> sequences, int k, boolean canonical) {
    Map<String, Long> counts = new HashMap<>();
    for (String sequence : sequences) {
      for (int i = 0; i + k <= sequence.length(); i++) {
        String kmer = sequence.substring(i, i + k).toUpperCase();
        if (kmer.matches("[ACGT]+")) {
          counts.merge(canonical ? least(kmer) : kmer, 1L, Long::sum);
        }
      }
    }
    return counts;
  }

  public static Map<Long, Long> histogram(Map<String, Long> counts) {
    Map<Long, Long> histogram = new TreeMap<>();
    counts.values().forEach(count -> histogram.merge(count, 1L, Long::sum));
    return histogram;
  }

  public static String reverseComplement(String kmer) {
    StringBuilder reversed = new StringBuilder();
    for (int i = kmer.length() - 1; i >= 0; i--) {
      reversed.append("TGCA".charAt("ACGT".indexOf(kmer.charAt(i))));
    }
    return reversed.toString();
  }

  private static String least(String kmer) {
    String other = reverseComplement(kmer);
    return kmer.compareTo(other) <= 0 ? kmer : other;
  }
}
