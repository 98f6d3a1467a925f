/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.samples.ManyToMany.Both;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.util.List;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@ExtendWith(LciLeakCheck.class)
class ManyToManyTest {
  @ParameterizedTest(name = "{0} ranks, {1} messages of {2} words, window {3}, chaos {4}")
  @CsvSource({
    "1,1000,1,256,false",
    "2,20000,1,256,false",
    "4,5000,4,16,false",
    "3,2000,100,64,false",
    "2,100,3000,8,false",
    "2,0,1,1,false",
    "3,2000,20,256,true"
  })
  void allThatWasSentArrives(int ranks, int messages, int words, int window, boolean chaos) {
    try (LciTestJob job = LciTestJob.start(ranks, EachRank.options(chaos).build())) {
      List<Both> totals = EachRank.run(job, lci -> sample(messages, words, window).run(lci));
      assertThat(totals).hasSize(1); // the first rank knows
      Both both = totals.get(0);
      assertThat(both.sent().count()).isEqualTo((long) ranks * messages);
      assertThat(both.received()).isEqualTo(both.sent());
    }
  }

  private static ManyToMany sample(int messages, int words, int window) {
    ManyToMany sample = new ManyToMany();
    sample.messages = messages;
    sample.words = words;
    sample.window = window;
    sample.seed = 5;
    return sample;
  }
}
