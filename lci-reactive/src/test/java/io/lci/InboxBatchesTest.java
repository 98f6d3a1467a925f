/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.awaitility.Awaitility.await;

import io.lci.am.Inbox;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.am.Sender;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.test.StepVerifier;

/** Batches of an inbox: what came together, up to a number. */
@ExtendWith(LciLeakCheck.class)
class InboxBatchesTest {
  private static final Port PORT = Port.of(14, "batches");
  private static final Duration LIMIT = Duration.ofSeconds(60);

  @ParameterizedTest
  @ValueSource(ints = {1, 7, 64, 100_000})
  void everythingComesOnceInBatchesOfAtMostTheNumber(int max) {
    int count = 5_000;
    try (LciTestJob job = LciTestJob.start(2)) {
      BitSet seen = new BitSet();
      Mono<Integer> received =
          job.rank(1)
              .inbox(PORT)
              .receiveBatches(max, m -> (int) m.getLong(0))
              .doOnNext(batch -> assertThat(batch.size()).isBetween(1, max))
              .publishOn(Schedulers.parallel())
              .concatMapIterable(batch -> batch)
              .take(count)
              .doOnNext(
                  n -> {
                    assertThat(seen.get(n)).as("%d seen before", n).isFalse();
                    seen.set(n);
                  })
              .reduce(0, (sum, n) -> sum + 1);
      Mono<Void> sent =
          job.rank(0).sender(PORT).sendAll(1, Flux.range(0, count), (n, out) -> out.putLong(n));
      assertThat(Mono.zip(received, sent.thenReturn(1)).block(LIMIT).getT1()).isEqualTo(count);
      assertThat(seen.cardinality()).isEqualTo(count);
    }
  }

  /** A lone message waits for nobody, and what is there together comes together. */
  @Test
  void noMessageWaitsForOthers() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Inbox inbox = job.rank(1).inbox(PORT);
      Sender sender = job.rank(0).sender(PORT);
      StepVerifier.create(inbox.receiveBatches(10), 0)
          .expectSubscription()
          .then(() -> send(sender, 1))
          .thenRequest(1)
          .assertNext(batch -> assertThat(batch).hasSize(1))
          .then(() -> send(sender, 25))
          .then(() -> await().atMost(LIMIT).until(() -> inbox.depth() == 25))
          .thenRequest(1)
          .assertNext(batch -> assertThat(batch).hasSizeBetween(1, 10))
          .thenCancel()
          .verify(LIMIT);
    }
  }

  private static void send(Sender sender, int count) {
    sender.sendAll(1, Flux.range(0, count), (n, out) -> out.putLong(n)).block(LIMIT);
  }

  /** Demand is of batches; what was taken for one that was not wanted stays for the next. */
  @Test
  void cancelIsPause() {
    int count = 1_000;
    try (LciTestJob job = LciTestJob.start(2)) {
      Inbox inbox = job.rank(1).inbox(PORT);
      Disposable sending =
          job.rank(0)
              .sender(PORT)
              .sendAll(1, Flux.range(0, count), (n, out) -> out.putLong(n))
              .subscribe();
      BitSet seen = new BitSet();
      while (seen.cardinality() < count) {
        List<Message> batch = inbox.receiveBatches(7).next().block(LIMIT);
        for (Message message : batch) {
          assertThat(seen.get((int) message.getLong(0))).isFalse();
          seen.set((int) message.getLong(0));
        }
      }
      await().atMost(LIMIT).until(sending::isDisposed);
    }
  }

  @Test
  void aFailingDecoderEndsItAfterWhatCameBefore() {
    try (LciTestJob job = LciTestJob.start(1)) {
      Inbox inbox = job.rank(0).inbox(PORT);
      send0(job, 5);
      List<Integer> got = new CopyOnWriteArrayList<>();
      StepVerifier.create(
              inbox
                  .receiveBatches(
                      10,
                      m -> {
                        if (m.getLong(0) == 3) {
                          throw new IllegalStateException("three");
                        }
                        return (int) m.getLong(0);
                      })
                  .doOnNext(got::addAll))
          .thenConsumeWhile(batch -> true)
          .expectErrorMessage("three")
          .verify(LIMIT);
      // the message counts as consumed, and the inbox goes on
      int left = 4 - got.size();
      if (left > 0) {
        inbox
            .receiveBatches(10, m -> (int) m.getLong(0))
            .concatMapIterable(b -> b)
            .take(left)
            .doOnNext(got::add)
            .blockLast(LIMIT);
      }
      assertThat(got).containsExactlyInAnyOrder(0, 1, 2, 4);
    }
  }

  private static void send0(LciTestJob job, int count) {
    for (int i = 0; i < count; i++) {
      job.rank(0).sender(PORT).send(0, Payload.ofLong(i)).block(LIMIT);
    }
  }

  @Test
  void disposeCompletesIt() {
    try (LciTestJob job = LciTestJob.start(1)) {
      Inbox inbox = job.rank(0).inbox(PORT);
      StepVerifier.create(inbox.receiveBatches(4))
          .expectSubscription()
          .then(inbox::dispose)
          .expectComplete()
          .verify(LIMIT);
      assertThatIllegalArgumentException().isThrownBy(() -> inbox.receiveBatches(0));
    }
  }
}
