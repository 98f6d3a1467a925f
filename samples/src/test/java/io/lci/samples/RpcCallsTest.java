/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.LciRuntime;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.util.List;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import reactor.core.publisher.Mono;

@ExtendWith(LciLeakCheck.class)
class RpcCallsTest {
  @ParameterizedTest
  @CsvSource({"1,false", "2,false", "3,true"})
  void everyInteractionIsAnsweredByTheNextRank(int ranks, boolean chaos) {
    try (LciTestJob job = LciTestJob.start(ranks, EachRank.options(chaos).build())) {
      List<List<String>> said =
          EachRank.run(job, lci -> together(lci, RpcCalls.conversation(lci).collectList()));
      assertThat(said).hasSize(ranks);
      for (int rank = 0; rank < ranks; rank++) {
        assertThat(said.get(rank))
            .containsExactly(
                "told rank " + (rank + 1) % ranks + " the price of salt",
                "tea costs 5",
                "gold: no_such_article, no price of it is known here",
                "begin with t: [tea, tin]",
                "tea and tin cost [5, 8]");
      }
    }
  }

  private static <T> Mono<T> together(LciRuntime lci, Mono<T> work) {
    return work.flatMap(result -> lci.barrier().thenReturn(result));
  }
}
