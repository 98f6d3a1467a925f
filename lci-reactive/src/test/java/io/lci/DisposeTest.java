/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.error.LciClosedException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;

/** The ways to close a runtime, and how its peers see each. Rank 1 closes, rank 0 looks. */
@ExtendWith(LciLeakCheck.class)
class DisposeTest {
  private static final Port PORT = Port.of(62, "dispose");
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final Duration SHORT = Duration.ofMillis(100);
  private static final int COUNT = 50;

  private final AtomicInteger sent = new AtomicInteger();
  private final AtomicReference<Throwable> failure = new AtomicReference<>();

  private static LciTestJob start(int loops, Duration closeTimeout) {
    return LciTestJob.start(
        2, LciOptions.builder().loops(loops).closeTimeout(closeTimeout).build());
  }

  /** Messages that wait, because rank 0 has not opened the port. */
  private void sendToClosedPort(LciTestJob job) {
    LciRuntime lci = job.rank(1);
    for (int i = 0; i < COUNT; i++) {
      lci.sender(PORT)
          .send(0, Payload.ofLong(i))
          .subscribe(none -> {}, failure::set, sent::incrementAndGet);
    }
    await().atMost(LIMIT).until(() -> lci.snapshot().counter("loop_parked") == COUNT - 1);
  }

  private static void takeAll(LciTestJob job) {
    assertThat(job.rank(0).inbox(PORT).receive().take(COUNT).count().block(LIMIT)).isEqualTo(COUNT);
  }

  private static PeerEvent.State seen(LciTestJob job) {
    return job.rank(0).peerGone(1).map(PeerEvent::state).block(LIMIT);
  }

  private static long givenUp(LciTestJob job) {
    return job.rank(1).snapshot().counter("loop_given_up");
  }

  @Test
  void disposeReturnsAtOnceAndSendsWhatWaits() {
    try (LciTestJob job = start(1, LIMIT)) {
      sendToClosedPort(job);
      job.rank(1).dispose();
      assertThat(job.rank(1).isDisposed()).isFalse();
      takeAll(job);
      job.rank(1).onClose().block(LIMIT);
      assertThat(sent).hasValue(COUNT);
      assertThat(failure.get()).isNull();
      assertThat(seen(job)).isEqualTo(PeerEvent.State.LEFT);
      assertThat(givenUp(job)).isZero();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void disposeOfAnIdleRuntimeIsADeparture(int loops) {
    try (LciTestJob job = start(loops, LIMIT)) {
      job.rank(1).dispose();
      assertThat(seen(job)).isEqualTo(PeerEvent.State.LEFT);
      job.rank(1).onClose().block(LIMIT);
    }
  }

  @Test
  void disposeThatCannotSendIsAFailureAndCounted() {
    try (LciTestJob job = start(1, SHORT)) {
      sendToClosedPort(job);
      job.rank(1).dispose();
      assertThat(seen(job)).isEqualTo(PeerEvent.State.FAILED);
      job.rank(1).onClose().block(LIMIT);
      assertThat(failure.get()).isInstanceOf(LciClosedException.class);
      assertThat(givenUp(job)).isEqualTo(COUNT - 1);
    }
  }

  /** Nothing is lost for the peers. */
  @Test
  void resultsThatNobodyRequestedAreNoFailure() {
    try (LciTestJob job = start(1, SHORT)) {
      job.rank(0).inbox(PORT).handle(message -> {});
      BaseSubscriber<PostResult<Integer>> results =
          new BaseSubscriber<>() {
            @Override
            protected void hookOnSubscribe(Subscription subscription) {
              subscription.request(1);
            }

            @Override
            protected void hookOnNext(PostResult<Integer> result) {
              sent.incrementAndGet();
            }

            @Override
            protected void hookOnError(Throwable error) {
              failure.set(error);
            }
          };
      job.rank(1)
          .sender(PORT)
          .route(Flux.range(0, COUNT), n -> 0, (n, out) -> out.putInt(n))
          .subscribe(results);
      await().atMost(LIMIT).until(() -> job.rank(0).snapshot().counter("loop_messages") == COUNT);
      job.rank(1).dispose();
      assertThat(seen(job)).isEqualTo(PeerEvent.State.LEFT);
      job.rank(1).onClose().block(LIMIT);
      assertThat(sent).hasValue(1);
      assertThat(failure.get()).isInstanceOf(LciClosedException.class);
      assertThat(givenUp(job)).isZero();
    }
  }

  /** Without time for anything: there is nothing that would need it. */
  @Test
  void noTimeIsEnoughWhereEverythingWasSent() {
    try (LciTestJob job = start(2, Duration.ZERO)) {
      job.rank(0).inbox(PORT).handle(message -> {});
      job.rank(1).sender(PORT).send(0, Payload.ofLong(1)).block(LIMIT);
      job.rank(1).dispose();
      assertThat(seen(job)).isEqualTo(PeerEvent.State.LEFT);
      job.rank(1).onClose().block(LIMIT);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void abortIsAFailureAlthoughNothingIsLost(int loops) {
    try (LciTestJob job = start(loops, LIMIT)) {
      job.rank(1).abort();
      assertThat(seen(job)).isEqualTo(PeerEvent.State.FAILED);
      job.rank(1).onClose().block(LIMIT);
      assertThat(givenUp(job)).isZero();
    }
  }

  @Test
  void abortDoesNotWait() {
    try (LciTestJob job = start(1, LIMIT)) {
      sendToClosedPort(job);
      job.rank(1).abort();
      job.rank(1).onClose().block(LIMIT.dividedBy(2));
      assertThat(seen(job)).isEqualTo(PeerEvent.State.FAILED);
      assertThat(failure.get()).isInstanceOf(LciClosedException.class);
      assertThat(givenUp(job)).isEqualTo(COUNT - 1);
    }
  }

  @Test
  void abortCutsACloseShort() {
    try (LciTestJob job = start(1, LIMIT)) {
      sendToClosedPort(job);
      job.rank(1).dispose();
      job.rank(1).abort();
      job.rank(1).onClose().block(LIMIT.dividedBy(2));
      assertThat(seen(job)).isEqualTo(PeerEvent.State.FAILED);
    }
  }

  @Test
  void closeWaitsForADisposeUnderWay() throws Exception {
    try (LciTestJob job = start(1, LIMIT)) {
      sendToClosedPort(job);
      job.rank(1).dispose();
      CompletableFuture<Void> closed = CompletableFuture.runAsync(job.rank(1)::close);
      assertThat(closed).isNotDone();
      takeAll(job);
      closed.get(LIMIT.toSeconds(), TimeUnit.SECONDS);
      assertThat(job.rank(1).isDisposed()).isTrue();
      assertThat(seen(job)).isEqualTo(PeerEvent.State.LEFT);
      job.rank(1).close();
      job.rank(1).dispose();
      job.rank(1).abort();
    }
  }
}
