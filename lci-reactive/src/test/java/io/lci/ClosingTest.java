/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.lci.am.Inbox;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.completion.Counter;
import io.lci.error.LciClosedException;
import io.lci.error.LciException;
import io.lci.error.PeerFailedException;
import io.lci.error.PeerLeftException;
import io.lci.error.PortClosedException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

/** The end of runtimes, and what a peer's end means to the others. */
@ExtendWith(LciLeakCheck.class)
class ClosingTest {
  private static final Port PORT = Port.of(21, "closing");
  private static final Duration LIMIT = Duration.ofSeconds(60);

  @RepeatedTest(20)
  void closeUnderLoadEndsEverySubscription() {
    LciTestJob job = LciTestJob.start(2, LciOptions.builder().closeTimeout(Duration.ZERO).build());
    AtomicInteger open = new AtomicInteger();
    AtomicReference<Throwable> wrong = new AtomicReference<>();
    for (LciRuntime runtime : job.ranks()) {
      int other = 1 - runtime.rank();
      follow(runtime.inbox(PORT).receive(), open, wrong);
      follow(
          runtime
              .sender(PORT)
              .route(Flux.range(0, Integer.MAX_VALUE), n -> other, (n, out) -> out.putInt(n)),
          open,
          wrong);
      follow(
          Flux.range(0, Integer.MAX_VALUE)
              .hide()
              .concatMap(n -> runtime.post(Op.am(other, PORT, Payload.ofLong(n)))),
          open,
          wrong);
      follow(runtime.tagged().receive(other, 1).flux(), open, wrong);
      follow(runtime.completions().synchronizer(2).firings(), open, wrong);
      follow(runtime.completions().counter().reaches(5).flux(), open, wrong);
      follow(runtime.peerEvents(), open, wrong);
    }
    await().atMost(LIMIT).until(() -> job.rank(0).snapshot().counter("loop_messages") > 1000);
    job.close();
    await().atMost(LIMIT).until(() -> open.get() == 0);
    assertThat(wrong.get()).isNull();
    assertThat(job.rank(0).isDisposed()).isTrue();
    job.rank(0).onClose().block(LIMIT);
  }

  private static void follow(Flux<?> flux, AtomicInteger open, AtomicReference<Throwable> wrong) {
    open.incrementAndGet();
    flux.subscribe(
        v -> {},
        e -> {
          // The other rank may be gone first
          if (!(e instanceof LciClosedException
              || e instanceof PeerFailedException
              || e instanceof PeerLeftException
              || e instanceof PortClosedException)) {
            wrong.set(e);
          }
          open.decrementAndGet();
        },
        open::decrementAndGet);
  }

  @Test
  void aGracefulCloseLetsWaitingMessagesOut() {
    try (LciTestJob job = LciTestJob.start(2)) {
      AtomicInteger sent = new AtomicInteger();
      for (int i = 0; i < 100; i++) {
        job.rank(0)
            .sender(PORT)
            .send(1, Payload.ofLong(i))
            .subscribe(v -> {}, e -> {}, sent::incrementAndGet);
      }
      await().atMost(LIMIT).until(() -> job.rank(0).snapshot().counter("loop_parked") == 99);
      Mono<Void> closed = job.rank(0).disposeGracefully(LIMIT);
      Disposable closing = closed.subscribe();
      assertThat(job.rank(1).inbox(PORT).receive().take(100).count().block(LIMIT)).isEqualTo(100);
      closed.block(LIMIT);
      assertThat(sent.get()).isEqualTo(100);
      await().atMost(LIMIT).until(closing::isDisposed);
    }
  }

  @Test
  void afterCloseEverythingIsRefusedAtOnce() {
    LciTestJob job = LciTestJob.start(1);
    LciRuntime runtime = job.rank(0);
    Inbox inbox = runtime.inbox(PORT);
    Mono<?> post = runtime.post(Op.am(0, PORT, Payload.empty()));
    Flux<?> receive = inbox.receive();
    job.close();
    runtime.close();
    StepVerifier.create(post).expectError(LciClosedException.class).verify(LIMIT);
    StepVerifier.create(receive).expectError(LciClosedException.class).verify(LIMIT);
    StepVerifier.create(runtime.barrier()).expectError(LciClosedException.class).verify(LIMIT);
    assertThatThrownBy(() -> runtime.inbox(PORT)).isInstanceOf(LciClosedException.class);
    assertThatThrownBy(() -> runtime.sender(PORT)).isInstanceOf(LciClosedException.class);
    assertThatThrownBy(runtime.completions()::counter).isInstanceOf(LciClosedException.class);
    assertThat(runtime.snapshot().counter("loop_uncaught")).isZero();
  }

  /** Nothing comes to a closed core: what it refused before, on this thread, is another matter. */
  @Test
  void aRefusalAfterCloseSpeaksOfTheCloseAlone() {
    LciTestJob job = LciTestJob.start(1);
    LciRuntime runtime = job.rank(0);
    Counter counter = runtime.completions().counter();
    assertThatThrownBy(() -> runtime.memory().remote(0, new byte[3]))
        .isInstanceOf(LciException.class)
        .hasMessageContaining("64 bytes, not 3");
    job.close();
    List<ThrowingCallable> late =
        List.of(
            () -> runtime.memory().allocate(8),
            () -> runtime.memory().register(ByteBuffer.allocateDirect(8)),
            () -> runtime.memory().remote(0, new byte[64]),
            () -> runtime.completions().bind(PORT, counter));
    for (ThrowingCallable call : late) {
      assertThatThrownBy(call)
          .isInstanceOfSatisfying(
              LciClosedException.class,
              e -> {
                assertThat(e.hint()).isEqualTo("the runtime was closed");
                assertThat(e.rank()).isEqualTo(LciException.NONE);
              });
    }
  }

  @Test
  void closeOnALoopThreadIsRefused() {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime runtime = job.rank(0);
      StepVerifier.create(
              Mono.fromRunnable(runtime::close).subscribeOn(runtime.loops().get(0).scheduler()))
          .expectErrorSatisfies(
              e ->
                  assertThat(e)
                      .isInstanceOf(IllegalStateException.class)
                      .hasMessageContaining("dispose"))
          .verify(LIMIT);
      assertThat(runtime.isDisposed()).isFalse();
    }
  }

  @Test
  void blockOnALoopThreadFailsFast() {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime runtime = job.rank(0);
      StepVerifier.create(
              Mono.fromCallable(() -> runtime.barrier().block())
                  .subscribeOn(runtime.loops().get(0).scheduler()))
          .expectError(IllegalStateException.class)
          .verify(LIMIT);
    }
  }

  @Test
  void aPeerThatLeftEndsItsOperationsAndNotTheInboxes() {
    try (LciTestJob job = LciTestJob.start(3)) {
      LciRuntime stays = job.rank(0);
      List<Throwable> errors = new CopyOnWriteArrayList<>();
      List<Long> heard = new CopyOnWriteArrayList<>();
      Disposable listening =
          stays.inbox(PORT).receive(m -> m.getLong(0)).subscribe(heard::add, e -> {});
      stays
          .sender(PORT)
          .send(1, Payload.ofLong(1))
          .then(stays.sender(PORT).send(1, Payload.ofLong(1)))
          .subscribe(v -> {}, errors::add); // the first is announced, the second waits
      stays.tagged().receive(1, 4).subscribe(v -> {}, errors::add);
      await()
          .atMost(LIMIT)
          .until(
              () ->
                  stays.snapshot().counter("loop_parked") == 1
                      && stays.snapshot().counter("receives_pending") == 1);
      job.rank(1).close();
      StepVerifier.create(stays.peerEvents().take(1))
          .expectNext(new PeerEvent(1, PeerEvent.State.LEFT))
          .expectComplete()
          .verify(LIMIT);
      StepVerifier.create(stays.peerGone(1))
          .expectNext(new PeerEvent(1, PeerEvent.State.LEFT))
          .expectComplete()
          .verify(LIMIT);
      await().atMost(LIMIT).until(() -> errors.size() == 2);
      assertThat(errors)
          .allSatisfy(
              e -> {
                assertThat(e).isInstanceOf(PeerLeftException.class);
                assertThat(((LciException) e).rank()).isEqualTo(1);
              });
      StepVerifier.create(stays.sender(PORT).send(1, Payload.empty()))
          .expectError(PeerLeftException.class)
          .verify(LIMIT);
      job.rank(2).sender(PORT).send(0, Payload.ofLong(42)).block(LIMIT);
      await().atMost(LIMIT).until(() -> heard.equals(List.of(42L)));
      listening.dispose();
      StepVerifier.create(stays.peerGone(0)).then(stays::close).expectComplete().verify(LIMIT);
    }
  }

  @Test
  void aCloseThatReturnedWasObserved() {
    AtomicInteger observed = new AtomicInteger();
    LciInstrumentation slow =
        new LciInstrumentation() {
          @Override
          public void runtimeClosed(LciRuntime runtime) {
            LockSupport.parkNanos(Duration.ofMillis(200).toNanos());
            observed.incrementAndGet();
          }
        };
    LciTestJob job = LciTestJob.start(2, LciOptions.builder().instrumentation(slow).build());
    job.close();
    assertThat(observed).hasValue(2);
  }

  /** An error that is fatal to the JVM is not swallowed: close() tells it, and does not hang. */
  @Test
  void anObserverThatFailsDoesNotKeepTheRuntimeOpen() {
    LciInstrumentation failing =
        new LciInstrumentation() {
          @Override
          public void runtimeClosed(LciRuntime runtime) {
            throw new NoClassDefFoundError("of the observer");
          }
        };
    LciTestJob job = LciTestJob.start(1, LciOptions.builder().instrumentation(failing).build());
    assertThatThrownBy(job::close).hasRootCauseInstanceOf(NoClassDefFoundError.class);
    assertThatThrownBy(() -> job.rank(0).onClose().block(LIMIT))
        .isInstanceOf(NoClassDefFoundError.class);
  }

  @Test
  void aStuckObserverIsNamed() {
    CountDownLatch release = new CountDownLatch(1);
    LciInstrumentation stuck =
        new LciInstrumentation() {
          @Override
          public void runtimeClosed(LciRuntime runtime) {
            while (release.getCount() > 0) {
              LockSupport.parkNanos(Duration.ofMillis(10).toNanos());
            }
          }
        };
    LciTestJob job =
        LciTestJob.start(
            1, LciOptions.builder().closeTimeout(Duration.ZERO).instrumentation(stuck).build());
    assertThatThrownBy(() -> job.rank(0).close())
        .isInstanceOf(LciException.class)
        .hasMessageContaining("lci-loop-0")
        .hasMessageContaining("runtimeClosed");
    release.countDown();
    job.close();
    assertThat(job.rank(0).isDisposed()).isTrue();
  }

  @Test
  void aStuckLoopIsNamed() throws InterruptedException {
    LciTestJob job = LciTestJob.start(1, LciOptions.builder().closeTimeout(Duration.ZERO).build());
    CountDownLatch release = new CountDownLatch(1);
    CountDownLatch held = new CountDownLatch(1);
    Disposable task =
        job.rank(0)
            .loops()
            .get(0)
            .scheduler()
            .schedule(
                () -> {
                  held.countDown();
                  await().atMost(LIMIT).until(() -> release.getCount() == 0);
                });
    held.await();
    assertThatThrownBy(() -> job.rank(0).close())
        .isInstanceOf(LciException.class)
        .hasMessageContaining("lci-loop-0")
        .hasMessageContaining("ClosingTest");
    release.countDown();
    job.close();
    assertThat(task.isDisposed()).isTrue();
  }
}
