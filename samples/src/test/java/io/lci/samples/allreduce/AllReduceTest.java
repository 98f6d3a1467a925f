/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.allreduce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.collective.Algorithm;
import io.lci.samples.EachRank;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import reactor.core.publisher.Mono;

/** All sums are right, by each algorithm. */
@ExtendWith(LciLeakCheck.class)
class AllReduceTest {
  @ParameterizedTest(name = "{0} ranks, {1} elements, {2}, chaos {3}")
  @CsvSource({
    "1,100,AUTO,false",
    "2,1,AUTO,false",
    "2,20000,AUTO,false",
    "3,20000,RING,false",
    "4,20000,RABENSEIFNER,false",
    "3,500,RECURSIVE_DOUBLING,true"
  })
  void theSumsAreRight(int ranks, int elements, Algorithm algorithm, boolean chaos) {
    try (LciTestJob job = LciTestJob.start(ranks, EachRank.options(chaos).build())) {
      List<long[]> nanos =
          EachRank.run(
              job, lci -> Mono.fromCallable(() -> AllReduce.run(lci, elements, 3, algorithm)));
      assertThat(nanos).hasSize(ranks).allSatisfy(each -> assertThat(each).hasSize(3));
    }
  }

  @Test
  void anAlgorithmOfOtherCallsIsRefused() {
    try (LciTestJob job = LciTestJob.start(2)) {
      assertThatThrownBy(() -> AllReduce.run(job.rank(0), 8, 1, Algorithm.BRUCK))
          .isInstanceOf(IllegalArgumentException.class);
    }
  }

  @Test
  void theMiddleIsThatOfTheSortedOnes() {
    assertThat(AllReduce.middle(new long[] {9, 1, 5})).isEqualTo(5);
    assertThat(AllReduce.middle(new long[] {7})).isEqualTo(7);
  }
}
