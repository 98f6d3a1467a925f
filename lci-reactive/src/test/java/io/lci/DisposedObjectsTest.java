/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.lci.am.Inbox;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.completion.Completion;
import io.lci.completion.CompletionGraph;
import io.lci.completion.CompletionQueue;
import io.lci.completion.CompletionTarget;
import io.lci.completion.Counter;
import io.lci.completion.QueueOptions;
import io.lci.completion.Synchronizer;
import io.lci.error.LciClosedException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.reactivestreams.Publisher;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

/** Completion objects that go before what was to signal them. */
@ExtendWith(LciLeakCheck.class)
class DisposedObjectsTest {
  private static final Port PORT = Port.of(33, "disposed");
  private static final Duration LIMIT = Duration.ofSeconds(60);

  /** The core has freed it when the loop has run what was handed to it before. */
  private static void settle(LciRuntime lci) {
    CountDownLatch passed = new CountDownLatch(1);
    Disposable task = lci.loops().get(0).scheduler().schedule(passed::countDown);
    try {
      assertThat(passed.await(60, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
    task.dispose();
  }

  private static void endsSilently(Function<LciRuntime, CompletionTarget> objects) {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(1);
      for (int round = 0; round < 50; round++) {
        CompletionTarget target = objects.apply(lci);
        int tag = round;
        Mono<Completion> receive = lci.post(Op.receive(0, tag, 64).completeTo(target)).cache();
        Disposable waiting = receive.subscribe();
        settle(lci);
        ((Disposable) target).dispose();
        settle(lci);
        job.rank(0).tagged().send(1, tag, Payload.ofLong(5)).block(LIMIT);
        assertThat(receive.block(LIMIT).size()).isEqualTo(8);
        // a cache tells who comes late before the others
        await().atMost(LIMIT).until(waiting::isDisposed);
      }
      assertThat(lci.snapshot().counters().get("loop_uncaught")).isZero();
    }
  }

  @Test
  void aReceiveOutlivesItsCounter() {
    endsSilently(lci -> lci.completions().counter());
  }

  @Test
  void aReceiveOutlivesItsSynchronizer() {
    endsSilently(lci -> lci.completions().synchronizer(1));
  }

  @Test
  void aReceiveOutlivesItsQueue() {
    endsSilently(lci -> lci.completions().queue(QueueOptions.defaults()));
  }

  /** What is in a queue goes when no port leads to the queue any more. */
  @Test
  void aQueueThatWasBoundIsFreedWhenItsPortIsClosed() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(1);
      CompletionQueue queue = lci.completions().queue(QueueOptions.defaults());
      Disposable bound = lci.completions().bind(PORT, queue);
      job.rank(0).post(Op.am(1, PORT, Payload.ofLong(5))).block(LIMIT);
      await().atMost(LIMIT).until(() -> inQueues(lci) == 1);
      queue.dispose();
      settle(lci);
      assertThat(inQueues(lci)).isEqualTo(1);
      bound.dispose();
      await().atMost(LIMIT).until(() -> inQueues(lci) == 0);
    }
  }

  private static long inQueues(LciRuntime lci) {
    Map<String, Long> counters = lci.snapshot().counters();
    return counters.get("statuses_pushed") - counters.get("statuses_popped");
  }

  /** The runtime lives on: who subscribes now is told what went, and how to get another. */
  @Test
  void aLateSubscriberIsToldWhatWasDisposed() {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      Inbox inbox = lci.inbox(PORT);
      CompletionQueue queue = lci.completions().queue(QueueOptions.defaults());
      Counter counter = lci.completions().counter();
      Synchronizer synchronizer = lci.completions().synchronizer(1);
      CompletionGraph.Builder builder = lci.completions().graph();
      builder.call(results -> 1);
      CompletionGraph graph = builder.build();
      List.of(inbox, queue, counter, synchronizer, graph).forEach(Disposable::dispose);
      inbox.onClose().block(LIMIT);
      Map<String, Publisher<?>> late =
          Map.of(
              "inbox", inbox.receive(),
              "queue", queue.completions(),
              "counter", counter.reaches(1),
              "synchronizer", synchronizer.next(),
              "graph", graph.run());
      late.forEach(
          (what, publisher) ->
              StepVerifier.create(publisher)
                  .expectErrorSatisfies(
                      e ->
                          assertThat(e)
                              .isInstanceOf(LciClosedException.class)
                              .hasMessageContaining("the " + what + " was disposed")
                              .hasMessageContaining(
                                  what.equals("inbox") ? "LciRuntime." : "Completions.")
                              .hasMessageNotContaining("the runtime was closed"))
                  .verify(LIMIT));
      job.close();
      late.forEach(
          (what, publisher) ->
              StepVerifier.create(publisher)
                  .expectErrorSatisfies(
                      e -> assertThat(e).hasMessageContaining("the runtime was closed"))
                  .verify(LIMIT));
    }
  }

  private static void bindIsRefused(Function<LciRuntime, CompletionTarget> objects) {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      CompletionTarget target = objects.apply(lci);
      ThrowingCallable bind = () -> lci.completions().bind(PORT, target).dispose();
      Mono.fromRunnable(
              () -> {
                ((Disposable) target).dispose(); // the core has it until this task ends
                assertRefused(bind);
              })
          .subscribeOn(lci.loops().get(0).scheduler())
          .block(LIMIT);
      settle(lci);
      assertRefused(bind);
      lci.completions().bind(PORT, lci.completions().counter()).dispose(); // the port is free
    }
  }

  private static void assertRefused(ThrowingCallable bind) {
    assertThatThrownBy(bind)
        .isInstanceOf(LciClosedException.class)
        .hasMessageContaining("bind port")
        .hasMessageContaining("was disposed");
  }

  @Test
  void noPortIsBoundToACounterThatWent() {
    bindIsRefused(lci -> lci.completions().counter());
  }

  @Test
  void noPortIsBoundToASynchronizerThatWent() {
    bindIsRefused(lci -> lci.completions().synchronizer(1));
  }

  @Test
  void noPortIsBoundToAQueueThatWent() {
    bindIsRefused(lci -> lci.completions().queue(QueueOptions.defaults()));
  }

  @Test
  void whoWaitedIsToldThatTheObjectWasDisposed() {
    try (LciTestJob job = LciTestJob.start(1)) {
      Counter counter = job.rank(0).completions().counter();
      StepVerifier.create(counter.reaches(1))
          .then(counter::dispose)
          .expectErrorSatisfies(e -> assertThat(e).hasMessageContaining("the counter was disposed"))
          .verify(LIMIT);
    }
  }

  @Test
  void whatIsPostedAfterItsObjectWentSignalsNobodyElse() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Disposable handling = job.rank(1).inbox(PORT).handle(m -> {});
      LciRuntime lci = job.rank(0);
      var gone = lci.completions().counter();
      Op op = Op.am(1, PORT, Payload.ofLong(1)).completeTo(gone);
      gone.dispose();
      settle(lci);
      var another = lci.completions().counter(); // may have its number
      Flux.range(0, 20).concatMap(i -> lci.post(op)).blockLast(LIMIT);
      settle(lci);
      assertThat(another.get()).isZero();
      handling.dispose();
    }
  }
}
