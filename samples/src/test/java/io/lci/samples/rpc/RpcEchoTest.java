/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.error.PeerLeftException;
import io.lci.samples.EachRank;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import reactor.core.publisher.Mono;

@ExtendWith(LciLeakCheck.class)
class RpcEchoTest {
  @ParameterizedTest(name = "{0} ranks, {1} threads, {2} calls, window {3}, chaos {4}")
  @CsvSource({
    "1,1,300,16,false",
    "2,2,500,16,false",
    "3,1,300,1,false",
    "2,4,200,256,false",
    "2,2,150,16,true",
    "2,1,0,1,false"
  })
  void everyCallIsAnsweredAndEveryBufferComesBack(
      int ranks, int threads, int calls, int window, boolean chaos) {
    EchoPlan plan = new EchoPlan(calls, window, 3);
    try (LciTestJob job = LciTestJob.start(ranks, options(threads, chaos))) {
      List<RpcLedger> books =
          EachRank.run(job, lci -> Mono.fromCallable(() -> runAndClose(lci, plan)));
      assertThat(books).hasSize(ranks).allMatch(RpcLedger::isBalanced);
      RpcLedger all = books.stream().reduce(RpcLedger.EMPTY, RpcLedger::plus);
      long expected = (long) ranks * threads * calls;
      assertThat(all.answers()).isEqualTo(expected);
      assertThat(all.served()).isEqualTo(expected);
      if (expected > 0) {
        assertThat(all.sentAtOnce()).as("short messages").isPositive();
        assertThat(all.sentLater()).as("long messages").isPositive();
      }
    }
  }

  @Test
  void aRankThatLeavesEndsTheOthers() {
    try (LciTestJob job = LciTestJob.start(2, options(2, false))) {
      job.rank(1).close();
      assertThatThrownBy(() -> RpcEcho.run(job.rank(0), new EchoPlan(100, 16, 3)))
          .isInstanceOf(PeerLeftException.class)
          .hasMessageContaining("rank 1");
    }
  }

  @Test
  void theBooksShowWhatIsMissing() {
    assertThat(new RpcLedger(3, 3, 2, 5, 5, 4, 1, 5, 5).isBalanced()).isTrue();
    assertThat(new RpcLedger(3, 2, 2, 5, 5, 4, 1, 4, 4).isBalanced()).as("answer").isFalse();
    assertThat(new RpcLedger(3, 3, 2, 5, 4, 4, 1, 5, 5).isBalanced()).as("buffer").isFalse();
    assertThat(new RpcLedger(3, 3, 2, 5, 5, 4, 1, 5, 4).isBalanced()).as("lease").isFalse();
    assertThat(new RpcLedger(3, 3, 2, 5, 5, 4, 2, 5, 5).isBalanced()).as("callback").isFalse();
  }

  /**
   * As the program does. Its threads drive the loops, and they end: what chaos still holds of this
   * rank's last messages then moves by the close only.
   */
  private static RpcLedger runAndClose(LciRuntime lci, EchoPlan plan) throws InterruptedException {
    try (lci) {
      return RpcEcho.run(lci, plan);
    }
  }

  private static LciOptions options(int threads, boolean chaos) {
    return EachRank.options(chaos).loops(threads).invoker(true).build();
  }
}
