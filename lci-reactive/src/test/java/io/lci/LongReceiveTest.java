/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.completion.Completion;
import io.lci.completion.CompletionQueue;
import io.lci.completion.QueueOptions;
import io.lci.error.TruncatedException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.Random;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Receives of messages whose length nobody told: memory comes when they match. */
@ExtendWith(LciLeakCheck.class)
class LongReceiveTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final long TAG = 42;

  private static LciTestJob job(String peerMemory) {
    return LciTestJob.start(2, LciOptions.builder().attribute("peer_memory", peerMemory).build());
  }

  private static byte[] bytes(int size) {
    byte[] bytes = new byte[size];
    new Random(size).nextBytes(bytes);
    return bytes;
  }

  private static byte[] bytesOf(Message message) {
    byte[] bytes = new byte[message.size()];
    message.getBytes(0, bytes, 0, bytes.length);
    return bytes;
  }

  @ParameterizedTest
  @ValueSource(strings = {"all", "rings"})
  void whatFirstUsersWrite(String peerMemory) {
    try (LciTestJob job = job(peerMemory)) {
      LciRuntime sender = job.rank(0);
      LciRuntime receiver = job.rank(1);
      int eager = sender.maxEager();
      for (int size : new int[] {0, 8, eager, eager + 1, 300_000, 5_000_000}) {
        byte[] sent = bytes(size);
        for (boolean expected : new boolean[] {true, false}) {
          Mono<Message> receive = receiver.tagged().receive(0, TAG).cache();
          Mono<Void> send = sender.tagged().send(1, TAG, Payload.of(sent)).cache();
          (expected ? receive : send).subscribe();
          (expected ? send : receive).subscribe();
          Message message = receive.block(LIMIT);
          assertThat(bytesOf(message)).isEqualTo(sent);
          assertThat(message.rank()).isZero();
          assertThat(message.tag()).isEqualTo(TAG);
          send.block(LIMIT);
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"all", "rings"})
  void aMessageAboveTheLimitTellsItsSize(String peerMemory) {
    try (LciTestJob job = job(peerMemory)) {
      Mono<Message> receive = job.rank(1).tagged().receive(0, TAG, 100_000).cache();
      receive.subscribe(none -> {}, tooLong -> {});
      job.rank(0).tagged().send(1, TAG, Payload.of(bytes(100_001))).block(LIMIT);
      assertThatThrownBy(() -> receive.block(LIMIT))
          .isInstanceOf(TruncatedException.class)
          .hasMessageContaining("100001 bytes, and the receive has room for 100000");
      Mono<Message> next = job.rank(1).tagged().receive(0, TAG, 100_000).cache();
      next.subscribe();
      job.rank(0).tagged().send(1, TAG, Payload.of(bytes(100_000))).block(LIMIT);
      assertThat(bytesOf(next.block(LIMIT))).isEqualTo(bytes(100_000));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"all", "rings"})
  void aQueueGetsTheMessage(String peerMemory) {
    try (LciTestJob job = job(peerMemory)) {
      LciRuntime receiver = job.rank(1);
      CompletionQueue queue = receiver.completions().queue(QueueOptions.defaults());
      Mono<Completion> first = queue.completions().next().cache();
      first.subscribe();
      receiver.post(Op.receive(0, TAG, 1 << 20).completeTo(queue)).subscribe();
      byte[] sent = bytes(500_000);
      job.rank(0).tagged().send(1, TAG, Payload.of(sent)).block(LIMIT);
      assertThat(bytesOf(first.block(LIMIT).message())).isEqualTo(sent);
    }
  }

  /** The receive that nobody waits for any more gives its message to the discard hook, or away. */
  @ParameterizedTest
  @ValueSource(strings = {"all", "rings"})
  void cancelsAtAnyTimeLoseNothingElse(String peerMemory) {
    try (LciTestJob job = job(peerMemory)) {
      LciRuntime sender = job.rank(0);
      LciRuntime receiver = job.rank(1);
      byte[] sent = bytes(2_000_000);
      int rounds = 30;
      Mono<Void> all =
          Flux.range(0, rounds)
              .concatMap(n -> sender.tagged().send(1, n, Payload.of(sent)))
              .then()
              .cache();
      for (int n = 0; n < rounds; n++) {
        receiver.tagged().receive(0, n).subscribe().dispose();
      }
      all.subscribe();
      for (int n = 0; n < rounds; n++) {
        Mono<Message> receive = receiver.tagged().receive(0, n).cache();
        receive.subscribe();
        if (n % 2 == 0) {
          assertThat(bytesOf(receive.block(LIMIT))).isEqualTo(sent);
        } else {
          assertThat(bytesOf(receive.block(LIMIT))).hasSize(sent.length);
        }
      }
      all.block(LIMIT);
    }
  }
}
