/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.lci.am.Encoder;
import io.lci.am.InboxOptions;
import io.lci.am.Payload;
import io.lci.am.PayloadWriter;
import io.lci.am.Port;
import io.lci.error.LciException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Payloads and encoders of users that fail where one does not expect it: the item fails, alone. */
@ExtendWith(LciLeakCheck.class)
class BadPayloadTest {
  private static final Port PORT = Port.of(34, "bad");
  private static final Duration LIMIT = Duration.ofSeconds(20);

  private static final Payload WITHOUT_SIZE =
      new Payload() {
        @Override
        public int size() {
          throw new UnsupportedOperationException("no size");
        }

        @Override
        public void writeTo(PayloadWriter out) {}
      };

  /** Fails from its {@code from}-th question on. */
  private record Hinting(AtomicInteger asked, int from) implements Encoder<Integer> {
    @Override
    public void encode(Integer item, PayloadWriter out) {
      out.putLong(item);
    }

    @Override
    public int sizeHint(Integer item) {
      if (asked.incrementAndGet() >= from) {
        throw new UnsupportedOperationException("no hint");
      }
      return UNKNOWN;
    }
  }

  private static void works(LciTestJob job) {
    Mono<Long> received = job.rank(1).tagged().receive(0, 99).map(m -> m.getLong(0)).cache();
    Disposable waiting = received.subscribe();
    job.rank(0).tagged().send(1, 99, Payload.ofLong(7)).block(LIMIT);
    assertThat(received.block(LIMIT)).isEqualTo(7);
    await().atMost(LIMIT).until(waiting::isDisposed);
  }

  @Test
  void aPayloadWithoutASizeFailsItsOperation() {
    try (LciTestJob job = LciTestJob.start(2)) {
      assertThatThrownBy(() -> job.rank(0).post(Op.am(1, PORT, WITHOUT_SIZE)).block(LIMIT))
          .isInstanceOf(LciException.class)
          .hasMessageContaining("no size");
      assertThatThrownBy(() -> job.rank(0).tagged().send(1, 1, WITHOUT_SIZE).block(LIMIT))
          .isInstanceOf(LciException.class)
          .hasMessageContaining("no size");
      works(job);
    }
  }

  @Test
  void anEncoderWithoutAHintFailsItsElement() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Disposable handling = job.rank(1).inbox(PORT).handle(m -> {});
      Hinting hinting = new Hinting(new AtomicInteger(), 5);
      assertThatThrownBy(
              () -> job.rank(0).sender(PORT).sendAll(1, Flux.range(0, 10), hinting).block(LIMIT))
          .isInstanceOf(LciException.class)
          .hasMessageContaining("no hint");
      works(job);
      handling.dispose();
    }
  }

  @Test
  void anEncoderThatFailsWhenItsElementHasWaitedFailsIt() {
    try (LciTestJob job = LciTestJob.start(2)) {
      var inbox = job.rank(1).inbox(PORT, InboxOptions.builder().messages(4).build());
      Hinting hinting = new Hinting(new AtomicInteger(), 150);
      Mono<Void> sending = job.rank(0).sender(PORT).sendAll(1, Flux.range(0, 100), hinting).cache();
      Disposable waiting = sending.subscribe(x -> {}, e -> {});
      Disposable handling = inbox.handle(m -> {});
      assertThatThrownBy(() -> sending.block(LIMIT))
          .isInstanceOf(LciException.class)
          .hasMessageContaining("no hint");
      works(job);
      await().atMost(LIMIT).until(waiting::isDisposed);
      handling.dispose();
    }
  }
}
