/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.completion.Completion;
import io.lci.completion.CompletionQueue;
import io.lci.completion.QueueOptions;
import io.lci.error.LciException;
import io.lci.rma.RemoteMemory;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Each operation that was posted has a place in the bounded queue that it signals. [D4, E8] */
@ExtendWith(LciLeakCheck.class)
class FullQueueTest {
  private static final Port PORT = Port.of(36, "full");
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final int PLACES = 4;
  private static final int COUNT = 64;

  /** What its loop, and not the core, tells a completion object of. */
  enum Relayed {
    RECEIVE,
    GET,
    LONG_MESSAGE,
    BARRIER
  }

  private static CompletionQueue array(LciRuntime lci) {
    return lci.completions()
        .queue(QueueOptions.builder().kind(QueueOptions.Kind.ARRAY).capacity(PLACES).build());
  }

  private static <T> T inLoop(LciRuntime lci, Supplier<T> work) {
    return Mono.fromSupplier(work).subscribeOn(lci.loops().get(0).scheduler()).block(LIMIT);
  }

  private static long uncaught(LciRuntime lci) {
    return lci.snapshot().counters().get("loop_uncaught");
  }

  /** What is outstanding after a while: operations that found no place wait. */
  private static void takeAllSlowly(CompletionQueue queue, int count) {
    List<Integer> taken = new ArrayList<>();
    while (taken.size() < count) {
      await().atMost(LIMIT).until(() -> queue.length() > 0);
      assertThat(queue.length()).isLessThanOrEqualTo(PLACES);
      for (Completion c :
          queue.completions().take(Math.min(queue.length(), 3)).collectList().block(LIMIT)) {
        assertThat(c.error()).isNull();
        taken.add(c.userContext());
      }
    }
    assertThat(taken).hasSize(count).doesNotHaveDuplicates();
  }

  @ParameterizedTest
  @EnumSource(Relayed.class)
  void nothingThatWasPostedIsLost(Relayed relayed) {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      Disposable handling = lci.inbox(PORT).handle(message -> {});
      CompletionQueue queue = array(lci);
      RemoteMemory remote = lci.memory().remote(0, lci.memory().allocate(64).handle());
      IntFunction<Op> ops =
          n ->
              switch (relayed) {
                case RECEIVE -> Op.receive(0, n, 64);
                case GET -> Op.get(remote, 0, 8);
                case LONG_MESSAGE -> Op.am(0, PORT, Payload.of(new byte[100_000]));
                case BARRIER -> Op.barrier();
              };
      Disposable posts =
          Flux.range(0, COUNT)
              .flatMap(n -> lci.post(ops.apply(n).completeTo(queue).userContext(n)), COUNT)
              .subscribe();
      if (relayed == Relayed.RECEIVE) {
        Flux.range(0, COUNT)
            .concatMap(n -> lci.tagged().send(0, n, Payload.ofLong(n)))
            .blockLast(LIMIT);
      }
      takeAllSlowly(queue, COUNT);
      await().atMost(LIMIT).until(posts::isDisposed);
      assertThat(uncaught(lci)).isZero();
      queue.dispose();
      handling.dispose();
    }
  }

  /** Cancelled receives signal in their places; those that waited for a place take the next. */
  @Test
  void whatIsCancelledKeepsItsPlaceUntilItsStatusIsTaken() {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      CompletionQueue queue = array(lci);
      for (int round = 0; round < 20; round++) {
        Disposable.Composite receives = Disposables.composite();
        for (int tag = 0; tag < PLACES; tag++) {
          receives.add(lci.post(Op.receive(0, tag, 64).completeTo(queue)).subscribe());
        }
        awaitPosted(lci, PLACES);
        assertThat(tryReceive(lci, queue)).isEqualTo(PostOutcome.RETRY_NOMEM);
        receives.dispose();
        await().atMost(LIMIT).until(() -> queue.length() == PLACES);
        assertThat(tryReceive(lci, queue)).isEqualTo(PostOutcome.RETRY_NOMEM);
        List<Completion> ends = queue.completions().take(PLACES).collectList().block(LIMIT);
        assertThat(ends).allMatch(c -> c.error() != null);
      }
      assertThat(uncaught(lci)).isZero();
      queue.dispose();
    }
  }

  private static void awaitPosted(LciRuntime lci, long count) {
    await().atMost(LIMIT).until(() -> lci.snapshot().counters().get("loop_in_slots") == count);
  }

  private static PostOutcome tryReceive(LciRuntime lci, CompletionQueue queue) {
    Op op = Op.receive(0, 999, 64).completeTo(queue);
    return inLoop(lci, () -> lci.loops().get(0).poster().tryPost(op));
  }

  @Test
  void whereRetryIsNotAllowedAFullQueueIsAnError() {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      CompletionQueue queue = array(lci);
      Disposable.Composite receives = Disposables.composite();
      for (int tag = 0; tag < PLACES; tag++) {
        receives.add(lci.post(Op.receive(0, tag, 64).completeTo(queue)).subscribe());
      }
      awaitPosted(lci, PLACES);
      Op op = Op.receive(0, 77, 64).completeTo(queue).advanced(a -> a.allowRetry(false));
      assertThatThrownBy(() -> lci.post(op).block(LIMIT))
          .isInstanceOfSatisfying(
              LciException.class, e -> assertThat(e.code()).isEqualTo("error_exhausted"));
      receives.dispose();
      queue.dispose();
    }
  }

  /** One that is disposed of while receives would signal it is freed when they have ended. */
  @Test
  void aQueueThatGoesBeforeItsOperationsIsFreedAfterThem() {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      for (int round = 0; round < 20; round++) {
        CompletionQueue queue = array(lci);
        int tag = round;
        Disposable receive = lci.post(Op.receive(0, tag, 64).completeTo(queue)).subscribe();
        awaitPosted(lci, 1);
        queue.dispose();
        lci.tagged().send(0, tag, Payload.ofLong(1)).block(LIMIT);
        await().atMost(LIMIT).until(receive::isDisposed);
      }
      assertThat(uncaught(lci)).isZero();
    }
  }
}
