/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.common;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.samples.kmer.ReferenceCount;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RunSplitterTest {
  private static final int OWNERS = 4;

  @ParameterizedTest
  @CsvSource({"1,1", "2,10", "5,200", "21,2048", "31,100", "51,150", "63,63", "63,2048"})
  void runsCoverTheKmersInOrderAndAKmerHasOneOwner(int k, int length) {
    Random random = new Random(k);
    Map<String, Integer> owners = new HashMap<>();
    StringBuilder covered = new StringBuilder();
    RunSplitter splitter =
        new RunSplitter(
            new KmerShape(k, true),
            new KmerShape(k, true).minimizer(15),
            OWNERS,
            (owner, codes, from, bases) -> {
              for (int i = from; i + k <= from + bases; i++) {
                String kmer = letters(codes, i, k);
                covered.append(kmer);
                Integer forward = owners.put(kmer, owner);
                Integer reverse = owners.put(ReferenceCount.reverseComplement(kmer), owner);
                assertThat(forward == null || forward == owner).as(kmer).isTrue();
                assertThat(reverse == null || reverse == owner).as(kmer).isTrue();
              }
            });
    byte[] codes = new byte[2048];
    for (int repeat = 0; repeat < 20; repeat++) {
      for (int i = 0; i < length; i++) {
        // Few different bases now and then, so that k-mers come again.
        codes[i] = (byte) random.nextInt(repeat % 2 == 0 ? 4 : 2);
      }
      covered.setLength(0);
      splitter.fragment(codes, length);
      StringBuilder expected = new StringBuilder();
      for (int i = 0; i + k <= length; i++) {
        expected.append(letters(codes, i, k));
      }
      assertThat(covered.toString()).isEqualTo(expected.toString());
      splitter.fragment(reverseComplement(codes, length), length);
    }
  }

  @ParameterizedTest
  @CsvSource({"21,3", "31,4", "51,15"})
  void runsAreLongAndOwnersEvenlyLoaded(int k, int leastMeanRun) {
    int[] kmers = new int[OWNERS];
    int[] runs = new int[1];
    RunSplitter splitter =
        new RunSplitter(
            new KmerShape(k, true),
            new KmerShape(k, true).minimizer(15),
            OWNERS,
            (owner, codes, from, bases) -> {
              kmers[owner] += bases - k + 1;
              runs[0]++;
            });
    Random random = new Random(1);
    byte[] codes = new byte[2048];
    for (int repeat = 0; repeat < 100; repeat++) {
      for (int i = 0; i < codes.length; i++) {
        codes[i] = (byte) random.nextInt(4);
      }
      splitter.fragment(codes, codes.length);
    }
    int total = Arrays.stream(kmers).sum();
    assertThat(total / runs[0]).isGreaterThanOrEqualTo(leastMeanRun);
    for (int owned : kmers) {
      assertThat(owned).isBetween(total / OWNERS * 8 / 10, total / OWNERS * 12 / 10);
    }
  }

  private static byte[] reverseComplement(byte[] codes, int length) {
    byte[] reversed = new byte[2048];
    for (int i = 0; i < length; i++) {
      reversed[i] = (byte) (3 - codes[length - 1 - i]);
    }
    return reversed;
  }

  private static String letters(byte[] codes, int from, int k) {
    StringBuilder text = new StringBuilder();
    for (int i = from; i < from + k; i++) {
      text.append("ACGT".charAt(codes[i]));
    }
    return text.toString();
  }
}
