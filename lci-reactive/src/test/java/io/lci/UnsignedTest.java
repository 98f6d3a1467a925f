/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.completion.Completion;
import io.lci.completion.Synchronizer;
import io.lci.rma.MemoryRegion;
import io.lci.rma.RemoteMemory;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;

/** Values that are unsigned in the core, at their boundaries. [U8, C15, C14] */
@ExtendWith(LciLeakCheck.class)
class UnsignedTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final Port LAST = Port.of(Port.MAX_NUMBER, "the last port");

  // Proves: U8 C15
  // On: inproc
  @ParameterizedTest
  @ValueSource(longs = {0, 1, 65_535, 65_536, 0x7FFF_FFFFL, 0x8000_0000L, 0xFFFF_FFFFL})
  void tagsOfSendAndReceiveHave32Bits(long tag) {
    try (LciTestJob job = LciTestJob.start(2)) {
      Mono<Message> received = job.rank(1).tagged().receive(0, tag);
      Mono<Void> sent = job.rank(0).tagged().send(1, tag, Payload.ofLong(tag));
      Message message = Mono.zip(received, sent.thenReturn(1)).block(LIMIT).getT1();
      assertThat(message.tag()).isEqualTo(tag);
      assertThat(message.getLong(0)).isEqualTo(tag);
    }
  }

  // Proves: U8 C15
  // On: inproc
  @ParameterizedTest
  @ValueSource(longs = {0, 0xFFFF_FFFFL, 0x1_0000_0000L, Long.MAX_VALUE, Long.MIN_VALUE, -1})
  void tagsOfActiveMessagesHave64Bits(long tag) {
    try (LciTestJob job = LciTestJob.start(2)) {
      Mono<Message> received = job.rank(1).inbox(LAST).receive().next();
      Mono<Completion> sent = job.rank(0).post(Op.am(1, LAST, Payload.empty()).tag(tag));
      var both = Mono.zip(received, sent).block(LIMIT);
      assertThat(both.getT1().tag()).isEqualTo(tag);
      assertThat(both.getT2().tag()).isEqualTo(tag);
    }
  }

  // Proves: U8 C15
  // On: inproc
  @ParameterizedTest
  @ValueSource(longs = {0, 32_767, 32_768, 65_535})
  void tagsOfSignalsHave16Bits(long tag) {
    try (LciTestJob job = LciTestJob.start(2)) {
      MemoryRegion region = job.rank(1).memory().allocate(8);
      RemoteMemory memory = job.rank(0).memory().remote(1, region.handle());
      Mono<Message> told = job.rank(1).inbox(LAST).receive().next();
      Mono<Void> put = memory.putWithSignal(0, Payload.ofLong(1), LAST, tag);
      assertThat(Mono.zip(told, put.thenReturn(1)).block(LIMIT).getT1().tag()).isEqualTo(tag);
      region.dispose();
    }
  }

  // Proves: C14
  // On: inproc
  @ParameterizedTest
  @ValueSource(ints = {0, 1, Integer.MAX_VALUE, Integer.MIN_VALUE, -1})
  void aUserContextComesBackUntouched(int context) {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      Disposable handling = lci.inbox(LAST).handle(m -> {});
      Synchronizer synchronizer = lci.completions().synchronizer(2);
      // One signalled by the core, one whose memory is the loop's.
      for (int size : new int[] {8, 100_000}) {
        Op op = Op.am(0, LAST, Payload.of(new byte[size])).userContext(context);
        assertThat(lci.post(op).block(LIMIT).userContext()).isEqualTo(context);
        lci.post(op.completeTo(synchronizer)).block(LIMIT);
      }
      List<Completion> firing = synchronizer.next().block(LIMIT);
      assertThat(firing).hasSize(2).allMatch(c -> c.userContext() == context);
      handling.dispose();
    }
  }

  // Proves: U8 C15
  // On: inproc
  @Test
  void whatDoesNotFitIsRefusedAtTheCaller() {
    Payload nothing = Payload.empty();
    for (long tag : new long[] {-2, 0x1_0000_0000L, Long.MAX_VALUE, Long.MIN_VALUE}) {
      assertThatThrownBy(() -> Op.send(0, tag, nothing))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> Op.receive(0, tag, 8)).isInstanceOf(IllegalArgumentException.class);
    }
    // -1 is the wildcard of a receive, and of nothing else.
    assertThat(Op.receive(0, -1, 8).tag()).isEqualTo(Op.ANY_TAG);
    assertThatThrownBy(() -> Op.send(0, -1, nothing)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> Op.am(-1, LAST, nothing)).isInstanceOf(IllegalArgumentException.class);
    for (int number : new int[] {-1, 0, 32_768, 65_536}) {
      assertThatThrownBy(() -> Port.of(number, "p")).isInstanceOf(IllegalArgumentException.class);
    }
    try (LciTestJob job = LciTestJob.start(2)) {
      assertThatThrownBy(() -> job.rank(0).post(Op.am(2, LAST, nothing)))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> job.rank(0).tagged().send(Integer.MAX_VALUE, 0, nothing))
          .isInstanceOf(IllegalArgumentException.class);
    }
  }
}
