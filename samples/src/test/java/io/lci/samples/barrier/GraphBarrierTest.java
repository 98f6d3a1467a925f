/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.barrier;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.samples.EachRank;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import reactor.core.publisher.Mono;

@ExtendWith(LciLeakCheck.class)
class GraphBarrierTest {
  private static final long SEED = 17;

  // Proves: J10
  // On: inproc, chaos
  @ParameterizedTest(name = "{0} ranks, {1} runs, up to {2} ms late, chaos {3}")
  @CsvSource({
    "1,3,5,false",
    "2,3,20,false",
    "3,3,20,false",
    "4,3,20,false",
    "5,20,2,false",
    "2,300,0,false",
    "4,100,0,false",
    "3,50,0,true"
  })
  void nobodyLeavesBeforeTheLastEnters(int ranks, int runs, int late, boolean chaos) {
    try (LciTestJob job = LciTestJob.start(ranks, EachRank.options(chaos).build())) {
      List<Integer> left =
          EachRank.run(
              job,
              lci -> {
                SplittableRandom random = new SplittableRandom(SEED + lci.rank());
                return GraphBarrierCheck.run(
                        lci, runs, () -> Duration.ofMillis(random.nextInt(late + 1)))
                    .thenReturn(lci.rank());
              });
      assertThat(left).hasSize(ranks);
    }
  }

  @Test
  void oneWhoLeavesTooEarlyIsNoticed() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<Entries> entries = EachRank.run(job, Entries::create);
      Mono<Void> none = Mono.empty(); // a barrier that is none
      assertThatThrownBy(
              () ->
                  GraphBarrierCheck.repeat(1, entries.get(0), () -> Duration.ZERO, none)
                      .block(EachRank.LIMIT))
          .hasMessage("rank 0 left run 1, but rank 1 has entered 0");
    }
  }

  @Test
  void oneWhoIsTooFarAheadIsNoticed() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<Entries> entries = EachRank.run(job, Entries::create);
      entries.get(0).write(1).then(entries.get(1).write(3)).block(EachRank.LIMIT);
      assertThatThrownBy(() -> entries.get(0).check(1))
          .hasMessage("rank 0 left run 1, but rank 1 has entered 3");
    }
  }
}
