/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.array;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.samples.EachRank;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@ExtendWith(LciLeakCheck.class)
class DistributedArrayTest {
  @ParameterizedTest(name = "{1} elements on {0} ranks, {2}, rma {3}, chaos {4}")
  @CsvSource({
    "1,1000,ALLOCATED,auto,false",
    "2,1000,ALLOCATED,auto,false",
    "3,1000,ALLOCATED,messages,false",
    "4,1000,REGISTERED,auto,false",
    "2,1000,REGISTERED,messages,true",
    "4,3,ALLOCATED,auto,false",
    "3,1,REGISTERED,auto,false"
  })
  void everyRankReadsWhatAllWrote(
      int ranks, int length, DistributedArray.Memory memory, String rma, boolean chaos) {
    long sum = IntStream.range(0, length).mapToLong(DistributedArrayCheck::valueAt).sum();
    try (LciTestJob job =
        LciTestJob.start(ranks, EachRank.options(chaos).attribute("rma", rma).build())) {
      assertThat(EachRank.run(job, lci -> DistributedArrayCheck.run(lci, length, memory)))
          .hasSize(ranks)
          .containsOnly(sum);
    }
  }

  @Test
  void aWrongElementIsNoticed() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<DistributedArray> arrays =
          EachRank.run(
              job, lci -> DistributedArray.create(lci, 100, DistributedArray.Memory.ALLOCATED));
      for (int i = 0; i < 100; i++) {
        arrays.get(0).set(i, DistributedArrayCheck.valueAt(i)).block(EachRank.LIMIT);
      }
      int wrong = DistributedArrayCheck.valueAt(77) + 1;
      arrays.get(1).set(77, wrong).block(EachRank.LIMIT);
      assertThat(arrays.get(0).get(77).block(EachRank.LIMIT)).isEqualTo(wrong);
      assertThatThrownBy(() -> DistributedArrayCheck.read(arrays.get(0)).block(EachRank.LIMIT))
          .hasMessageContaining("element 77 is " + wrong);
    }
  }
}
