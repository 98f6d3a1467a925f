/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@ExtendWith(LciLeakCheck.class)
class HelloTest {
  @ParameterizedTest
  @CsvSource({"1,false", "2,false", "4,false", "3,true"})
  void everyRankIsGreetedByTheFirst(int ranks, boolean chaos) {
    try (LciTestJob job = LciTestJob.start(ranks, EachRank.options(chaos).build())) {
      List<String> expected =
          IntStream.range(0, ranks)
              .mapToObj(rank -> "rank %1$d got: greetings, rank %1$d, from rank 0".formatted(rank))
              .toList();
      assertThat(EachRank.run(job, Hello::greeting)).isEqualTo(expected);
    }
  }
}
