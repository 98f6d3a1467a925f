/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.lci.am.Inbox;
import io.lci.am.InboxOptions;
import io.lci.am.Message;
import io.lci.am.MessageView;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.error.LciClosedException;
import io.lci.error.PortClosedException;
import io.lci.error.PortMismatchException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.Disposable;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

/** Demand, pause, errors and the end of an inbox. Mutation: leak_packet. */
@ExtendWith(LciLeakCheck.class)
class InboxTest {
  private static final Port PORT = Port.of(7, "inbox-test");
  private static final Duration LIMIT = Duration.ofSeconds(60);

  @Test
  void deliversNoMoreThanRequested() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Flux<Long> received = job.rank(1).inbox(PORT).receive(m -> m.getLong(0));
      Disposable sending = send(job, 10_000).subscribe();
      StepVerifier.create(received.take(10_000), 0)
          .expectSubscription()
          .expectNoEvent(Duration.ofMillis(100))
          .thenRequest(1)
          .expectNextCount(1)
          .expectNoEvent(Duration.ofMillis(50))
          .thenRequest(100)
          .expectNextCount(100)
          .expectNoEvent(Duration.ofMillis(50))
          .thenRequest(Long.MAX_VALUE)
          .expectNextCount(10_000 - 101)
          .expectComplete()
          .verify(LIMIT);
      await().atMost(LIMIT).until(sending::isDisposed);
    }
  }

  // Proves: U6
  @Test
  void aSlowSubscriberStopsTheSendersUpstream() {
    try (LciTestJob job = LciTestJob.start(2)) {
      job.rank(1).inbox(PORT, InboxOptions.builder().messages(16).build());
      AtomicInteger taken = new AtomicInteger();
      Disposable sending =
          job.rank(0)
              .sender(PORT)
              .sendAll(
                  1,
                  Flux.range(0, 100_000).doOnNext(n -> taken.incrementAndGet()),
                  (n, out) -> out.putInt(n))
              .subscribe();
      // The inbox holds 16; one more may wait announced; the window holds 256; nothing else was
      // taken.
      await()
          .during(Duration.ofMillis(200))
          .atMost(LIMIT)
          .until(() -> taken.get() <= 16 + 1 + 256 && taken.get() >= 256);
      assertThat(job.rank(1).inbox(PORT).depth()).isLessThanOrEqualTo(16);
      sending.dispose();
    }
  }

  @Test
  void messagesThatNobodyAsksForAreSeenAsDepth() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Inbox inbox = job.rank(1).inbox(PORT, InboxOptions.builder().messages(16).build());
      Disposable sending = send(job, 100).subscribe();
      await().atMost(LIMIT).until(() -> inbox.depth() > 0);
      assertThat(inbox.depth()).isLessThanOrEqualTo(16);
      assertThat(inbox.receive().take(100).count().block(LIMIT)).isEqualTo(100);
      await().atMost(LIMIT).until(() -> inbox.depth() == 0);
      await().atMost(LIMIT).until(sending::isDisposed);
    }
  }

  // Proves: V15
  @Test
  void aViewThatWasKeptSaysThatItEnded() {
    try (LciTestJob job = LciTestJob.start(2)) {
      AtomicReference<MessageView> kept = new AtomicReference<>();
      Mono<Long> received =
          job.rank(1)
              .inbox(PORT)
              .receive(
                  m -> {
                    kept.set(m);
                    return m.getLong(0);
                  })
              .next();
      job.rank(0).sender(PORT).send(1, Payload.ofLong(9)).block(LIMIT);
      assertThat(received.block(LIMIT)).isEqualTo(9);
      await().atMost(LIMIT).until(() -> job.rank(1).inbox(PORT).depth() == 0);
      job.rank(1).barrier().and(job.rank(0).barrier()).block(LIMIT); // the loop's turn is over
      MessageView view = kept.get();
      List<Runnable> uses =
          List.of(
              view::rank,
              view::tag,
              view::size,
              () -> view.getByte(0),
              () -> view.getShort(0),
              () -> view.getInt(0),
              () -> view.getLong(0),
              () -> view.getDouble(0),
              () -> view.getBytes(0, new byte[1], 0, 1),
              () -> view.getLongs(0, new long[1], 0, 1),
              () -> view.copyTo(java.nio.ByteBuffer.allocate(8)),
              view::toByteArray,
              view::utf8,
              view::copy);
      for (Runnable use : uses) {
        assertThatThrownBy(use::run)
            .isInstanceOf(IllegalStateException.class)
            .hasMessageContaining("ended when the decoder returned")
            .hasMessageContaining("copy()");
      }
    }
  }

  @Test
  void aDecoderThatReturnsTheViewIsRefusedAtOnce() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Flux<MessageView> received = job.rank(1).inbox(PORT).receive(m -> m);
      AtomicReference<Throwable> error = new AtomicReference<>();
      AtomicInteger items = new AtomicInteger();
      received.subscribe(m -> items.incrementAndGet(), error::set);
      job.rank(0).sender(PORT).send(1, Payload.ofLong(9)).block(LIMIT);
      await().atMost(LIMIT).until(() -> error.get() != null);
      assertThat(error.get())
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("ended when the decoder returned");
      assertThat(items).hasValue(0);
    }
  }

  @Test
  void aViewIsReadWithinItsBounds() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Mono<String> received =
          job.rank(1)
              .inbox(PORT)
              .receive(
                  m -> {
                    assertThat(m.getInt(4)).isZero();
                    for (int index : new int[] {-1, 5, 8, Integer.MAX_VALUE, Integer.MIN_VALUE}) {
                      assertThatThrownBy(() -> m.getInt(index))
                          .isInstanceOf(IndexOutOfBoundsException.class)
                          .hasMessageContaining("length 8");
                    }
                    assertThatThrownBy(() -> m.getBytes(0, new byte[9], 0, 9))
                        .isInstanceOf(IndexOutOfBoundsException.class);
                    assertThatThrownBy(() -> m.getBytes(0, new byte[9], 0, -1))
                        .isInstanceOf(IndexOutOfBoundsException.class);
                    return "ok";
                  })
              .next();
      job.rank(0).sender(PORT).send(1, Payload.ofLong(9)).block(LIMIT);
      assertThat(received.block(LIMIT)).isEqualTo("ok");
    }
  }

  @Test
  void cancelIsPauseAndNothingIsLost() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Inbox inbox = job.rank(1).inbox(PORT);
      Set<Long> seen = ConcurrentHashMap.newKeySet();
      Mono<Void> sent = send(job, 20_000);
      Disposable sending = sent.subscribe();
      int parts = 40;
      for (int i = 0; i < parts; i++) {
        // take() cancels in the middle of a drain, with unbounded demand open.
        List<Long> part =
            inbox.receive(m -> m.getLong(0)).take(20_000 / parts, false).collectList().block(LIMIT);
        assertThat(seen.addAll(part)).isTrue();
        assertThat(part).hasSize(20_000 / parts);
      }
      assertThat(seen).hasSize(20_000);
      await().atMost(LIMIT).until(sending::isDisposed);
    }
  }

  @Test
  void aSecondSubscriberIsRefusedAndToldTheFirst() {
    try (LciTestJob job = LciTestJob.start(1)) {
      Inbox inbox = job.rank(0).inbox(PORT);
      Disposable handling = inbox.handle(m -> {});
      StepVerifier.create(inbox.receive())
          .expectErrorSatisfies(
              e ->
                  assertThat(e)
                      .isInstanceOf(IllegalStateException.class)
                      .hasMessageContaining(PORT.toString())
                      .hasMessageContaining("has a live subscriber: a handler; use"))
          .verify(LIMIT);
      assertThatThrownBy(() -> inbox.handle(m -> {})).isInstanceOf(IllegalStateException.class);
      handling.dispose();
      Disposable mapping = inbox.receive(m -> 1).map(m -> m).subscribe();
      assertThatThrownBy(() -> inbox.handle(m -> {}))
          .hasMessageContaining("has a live subscriber: map; use");
      mapping.dispose();
      Mono<Message> next = inbox.receive().next();
      assertThat(
              Mono.zip(next, job.rank(0).sender(PORT).send(0, Payload.ofLong(5)).thenReturn(1))
                  .block(LIMIT)
                  .getT1()
                  .getLong(0))
          .isEqualTo(5);
    }
  }

  @Test
  void aDecodersErrorEndsTheSubscriptionAndNotTheInbox() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Inbox inbox = job.rank(1).inbox(PORT);
      Disposable sending = send(job, 100).subscribe();
      AtomicInteger decoded = new AtomicInteger();
      StepVerifier.create(
              inbox.receive(
                  m -> {
                    if (decoded.incrementAndGet() == 10) {
                      throw new IllegalArgumentException("tenth");
                    }
                    return m.getLong(0);
                  }))
          .expectNextCount(9)
          .expectErrorMessage("tenth")
          .verify(LIMIT);
      StepVerifier.create(inbox.receive().take(90))
          .expectNextCount(90)
          .expectComplete()
          .verify(LIMIT);
      await().atMost(LIMIT).until(sending::isDisposed);
    }
  }

  @Test
  void aDecoderThatReturnsNullFails() {
    try (LciTestJob job = LciTestJob.start(1)) {
      Disposable sending = job.rank(0).sender(PORT).send(0, Payload.empty()).subscribe();
      StepVerifier.create(job.rank(0).inbox(PORT).receive(m -> null))
          .expectErrorMatches(
              e -> e instanceof IllegalStateException && e.getMessage().contains("returned null"))
          .verify(LIMIT);
      await().atMost(LIMIT).until(sending::isDisposed);
    }
  }

  @Test
  void requestOfNothingIsAnError() {
    try (LciTestJob job = LciTestJob.start(1)) {
      AtomicReference<Throwable> error = new AtomicReference<>();
      job.rank(0)
          .inbox(PORT)
          .receive()
          .subscribe(
              new BaseSubscriber<>() {
                @Override
                protected void hookOnSubscribe(org.reactivestreams.Subscription subscription) {
                  subscription.request(0);
                }

                @Override
                protected void hookOnError(Throwable e) {
                  error.set(e);
                }
              });
      await().atMost(LIMIT).until(() -> error.get() != null);
      assertThat(error.get())
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("3.9");
    }
  }

  @Test
  void signalsComeOnTheHomeLoop() {
    try (LciTestJob job = LciTestJob.start(1, LciOptions.builder().loops(2).build())) {
      List<String> threads = new CopyOnWriteArrayList<>();
      Mono<Message> received =
          job.rank(0)
              .inbox(PORT, InboxOptions.builder().loop(1).build())
              .receive()
              .doOnNext(m -> threads.add(Thread.currentThread().getName()))
              .next();
      Mono.zip(received, job.rank(0).sender(PORT).send(0, Payload.ofLong(1)).thenReturn(1))
          .block(LIMIT);
      assertThat(threads).containsExactly("lci-loop-1");
    }
  }

  // Proves: X13
  @Test
  void disposeCompletesTheSubscriberAndRefusesSenders() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Inbox inbox = job.rank(1).inbox(PORT);
      StepVerifier.create(inbox.receive())
          .then(() -> job.rank(0).sender(PORT).send(1, Payload.ofLong(1)).block(LIMIT))
          .expectNextCount(1)
          .then(inbox::dispose)
          .expectComplete()
          .verify(LIMIT);
      inbox.onClose().block(LIMIT);
      StepVerifier.create(inbox.receive()).expectError(LciClosedException.class).verify(LIMIT);
      StepVerifier.create(
              job.rank(0)
                  .sender(PORT)
                  .route(Flux.range(0, 1000), n -> 1, (n, out) -> out.putInt(n))
                  .filter(result -> !result.isSuccess())
                  .map(PostResult::error)
                  .repeat() // what is sent before the news of the end is there is discarded
                  .take(1_000))
          .thenConsumeWhile(
              e -> e instanceof PortClosedException && e.rank() == 1 && e.port() == PORT.number())
          .expectComplete()
          .verify(LIMIT);
      Inbox again = job.rank(1).inbox(PORT);
      assertThat(again).isNotSameAs(inbox);
      Mono<Message> next = // past what was on its way and came when the port was open again
          again.receive().filter(m -> m.size() == Long.BYTES).next();
      Mono<Void> resent =
          job.rank(0)
              .sender(PORT)
              .send(1, Payload.ofLong(2))
              .retryWhen(
                  reactor.util.retry.Retry.fixedDelay(1000, Duration.ofMillis(5))
                      .filter(PortClosedException.class::isInstance));
      assertThat(Mono.zip(next, resent.thenReturn(1)).block(LIMIT).getT1().getLong(0)).isEqualTo(2);
    }
  }

  // Proves: X12
  @Test
  void anEarlySenderWaitsUntilThePortOpens() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Disposable sending = send(job, 1000).subscribe();
      await().pollDelay(Duration.ofMillis(200)).until(() -> !sending.isDisposed());
      StepVerifier.create(job.rank(1).inbox(PORT).receive().take(1000))
          .expectNextCount(1000)
          .expectComplete()
          .verify(LIMIT);
      await().atMost(LIMIT).until(sending::isDisposed);
    }
  }

  private static Mono<Void> send(LciTestJob job, int count) {
    return job.rank(0).sender(PORT).sendAll(1, Flux.range(0, count), (n, out) -> out.putLong(n));
  }

  @Test
  void aSenderThatMeansAnotherPortIsToldBothFacts() {
    try (LciTestJob job = LciTestJob.start(2)) {
      job.rank(1).inbox(PORT);
      assertThatThrownBy(
              () ->
                  job.rank(0)
                      .sender(Port.of(PORT.number(), "orders"))
                      .sendAll(1, Flux.range(0, 1_000), (n, out) -> out.putInt(n))
                      .block(LIMIT))
          .isInstanceOf(PortMismatchException.class)
          .hasMessageContaining("another name")
          .hasMessageContaining("\"orders\"");
      assertThatThrownBy(() -> job.rank(0).sender(Port.of(PORT.number(), "bills")))
          .isInstanceOf(PortMismatchException.class)
          .hasMessageContaining("bills")
          .hasMessageContaining("it is \"orders\"");
    }
  }

  @Test
  void operationsThatMeanAnotherPortAreToldToo() {
    Port orders = Port.of(PORT.number(), "orders");
    PostOptions options = PostOptions.builder().stopOnError(true).build();
    try (LciTestJob job = LciTestJob.start(2)) {
      job.rank(1).inbox(PORT);
      assertThatThrownBy(
              () ->
                  job.rank(0)
                      .post(Flux.range(0, 1_000), n -> Op.am(1, orders, Payload.ofInt(n)), options)
                      .blockLast(LIMIT))
          .isInstanceOf(PortMismatchException.class)
          .hasMessageContaining("another name");
      assertThatThrownBy(() -> job.rank(0).post(Op.am(1, PORT, Payload.empty())))
          .isInstanceOf(PortMismatchException.class)
          .hasMessageContaining("it is \"orders\"");
    }
  }
}
