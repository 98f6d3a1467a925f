/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@ExtendWith(LciLeakCheck.class)
class PingPongTest {
  @ParameterizedTest
  @CsvSource({"2,1,1,false", "2,4,1000,false", "4,2,200,false", "2,4,100,true"})
  void everyNumberComesBackOnEveryThread(int ranks, int threads, long rounds, boolean chaos) {
    try (LciTestJob job = LciTestJob.start(ranks, EachRank.options(chaos).loops(threads).build())) {
      assertThat(EachRank.run(job, lci -> PingPong.play(lci, rounds)))
          .hasSize(ranks)
          .containsOnly(threads * rounds);
    }
  }

  @Test
  void aNumberOutOfTurnIsNoticed() {
    try (LciTestJob job = LciTestJob.start(2)) {
      job.rank(1).inbox(Port.of(1, "ball-0"));
      job.rank(0).sender(Port.of(1, "ball-0")).send(1, Payload.ofLong(3)).block(EachRank.LIMIT);
      assertThatThrownBy(() -> PingPong.play(job.rank(1), 10).block(EachRank.LIMIT))
          .hasMessage("received 3, expected 1");
    }
  }

  @Test
  void anOddNumberOfRanksIsRefused() {
    try (LciTestJob job = LciTestJob.start(1)) {
      assertThatThrownBy(() -> PingPong.play(job.rank(0), 10))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage("an even number of ranks is needed, there are 1");
    }
  }
}
