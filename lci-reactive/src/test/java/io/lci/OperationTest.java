/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.lci.am.InboxOptions;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.completion.Completion;
import io.lci.error.DeadlineExceededException;
import io.lci.error.TruncatedException;
import io.lci.rma.MemoryRegion;
import io.lci.rma.RemoteMemory;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

/** Operations as Monos, and posting without a publisher. */
@ExtendWith(LciLeakCheck.class)
class OperationTest {
  private static final Port PORT = Port.of(3, "operations");
  private static final Duration LIMIT = Duration.ofSeconds(60);

  /** Under refusals; the soak has a million. */
  private static final int OPERATIONS = Integer.getInteger("lci.test.operations", 20_000);

  // Proves: U4
  @Test
  void everyMonoEndsExactlyOnceAndEveryMessageArrivesExactlyOnce() {
    int count = 100_000;
    try (LciTestJob job = LciTestJob.start(2)) {
      BitSet arrived = new BitSet(count);
      AtomicInteger ended = new AtomicInteger();
      Mono<Long> received =
          job.rank(1)
              .inbox(PORT)
              .receive(m -> (int) m.getLong(0))
              .take(count)
              .doOnNext(
                  n -> {
                    assertThat(arrived.get(n)).isFalse();
                    arrived.set(n);
                  })
              .count();
      Mono<Long> posted =
          Flux.range(0, count)
              .flatMap(
                  n ->
                      job.rank(0)
                          .post(Op.am(1, PORT, Payload.ofLong(n)))
                          .doOnNext(c -> assertThat(c.rank()).isEqualTo(1))
                          .doOnTerminate(ended::incrementAndGet),
                  32)
              .count();
      var both = Mono.zip(received, posted).block(LIMIT);
      assertThat(both.getT1()).isEqualTo(count);
      assertThat(both.getT2()).isEqualTo(count);
      assertThat(ended.get()).isEqualTo(count);
      assertThat(arrived.cardinality()).isEqualTo(count);
    }
  }

  /**
   * The transport refuses at random, the same way for the same seed. By fours: a message, a send,
   * its receive, a put.
   */
  // Proves: U4
  // On: chaos
  @ParameterizedTest(name = "seed {0}")
  @ValueSource(ints = {1, 2, 3})
  @Timeout(1200) // only ends what hangs
  void everyMonoEndsExactlyOnceUnderRandomRefusals(int seed) {
    int count = OPERATIONS / 4 * 4;
    byte[] elements = new byte[count];
    byte[] ends = new byte[count];
    BitSet arrived = new BitSet(count);
    LciOptions options =
        LciOptions.builder().attribute("chaos", "seed=" + seed + ",refuse=0.3").build();
    try (LciTestJob job = LciTestJob.start(2, options)) {
      LciRuntime from = job.rank(0);
      LciRuntime to = job.rank(1);
      MemoryRegion region = to.memory().allocate(2L * count);
      RemoteMemory remote = from.memory().remote(1, region.handle());
      Mono<Long> messages =
          to.inbox(PORT)
              .receive(m -> m.getLong(0))
              .take(count / 4)
              .doOnNext(
                  n -> {
                    assertThat(arrived.get(n.intValue())).as("%d came before", n).isFalse();
                    arrived.set(n.intValue());
                  })
              .reduce(0L, Long::sum);
      Mono<Long> received =
          Flux.range(0, count)
              .flatMap(
                  n ->
                      counted(
                          switch (n % 4) {
                            case 0 -> from.post(Op.am(1, PORT, Payload.ofLong(n)));
                            case 1 -> from.post(Op.send(1, n, Payload.ofLong(n)));
                            case 2 -> to.post(Op.receive(0, n - 1, Long.BYTES));
                            default -> from.post(Op.put(remote, n / 4 * 8L, Payload.ofLong(n)));
                          },
                          () -> elements[n]++,
                          () -> ends[n]++),
                  64)
              .filter(c -> c.message() != null)
              .reduce(0L, (sum, c) -> sum + c.message().getLong(0));
      var sums = Mono.zip(messages, received).block(Duration.ofMinutes(19));
      long quarter = count / 4;
      long byFours = 2 * quarter * (quarter - 1); // 0 + 4 + 8 and so on
      assertThat(sums.getT1()).isEqualTo(byFours);
      assertThat(sums.getT2()).isEqualTo(byFours + quarter);
      for (int n = 0; n < count; n++) {
        assertThat(elements[n]).as("elements of %d", n).isEqualTo((byte) 1);
        assertThat(ends[n]).as("ends of %d", n).isEqualTo((byte) 1);
      }
      for (int n = 3; n < count; n += 4) {
        assertThat(region.view(n / 4 * 8L, 8).getLong(0)).as("put %d", n).isEqualTo(n);
      }
      assertThat(from.snapshot().counter("chaos_refused")).isPositive();
    }
  }

  /** Counts what the Mono signals before any operator has judged it. */
  private static Publisher<Completion> counted(
      Mono<Completion> mono, Runnable element, Runnable end) {
    return actual ->
        mono.subscribe(
            new Subscriber<>() {
              @Override
              public void onSubscribe(Subscription subscription) {
                actual.onSubscribe(subscription);
              }

              @Override
              public void onNext(Completion completion) {
                element.run();
                actual.onNext(completion);
              }

              @Override
              public void onError(Throwable error) {
                end.run();
                actual.onError(error);
              }

              @Override
              public void onComplete() {
                end.run();
                actual.onComplete();
              }
            });
  }

  // Proves: V6
  @Test
  void tryPostFromAHandlerEchoesEveryMessage() {
    int count = 100_000;
    LciOptions options = LciOptions.builder().attribute("lane_completions", "64").build();
    Port back = Port.of(4, "back");
    try (LciTestJob job = LciTestJob.start(2, options)) {
      LciRuntime echo = job.rank(1);
      Poster poster = echo.loops().get(0).poster();
      AtomicLong refused = new AtomicLong();
      Disposable handling =
          echo.inbox(PORT)
              .handle(
                  m -> {
                    Op op = Op.am(m.rank(), back, Payload.ofLong(m.getLong(0)));
                    if (!poster.tryPost(op).isDone()) {
                      refused.incrementAndGet();
                      poster.submit(op);
                    }
                  });
      Mono<Long> received =
          job.rank(0).inbox(back).receive(m -> m.getLong(0)).take(count).reduce(0L, Long::sum);
      Mono<Void> sent =
          job.rank(0).sender(PORT).sendAll(1, Flux.range(0, count), (n, out) -> out.putLong(n));
      assertThat(Mono.zip(received, sent.thenReturn(1)).block(LIMIT).getT1())
          .isEqualTo((long) count * (count - 1) / 2);
      handling.dispose();
    }
  }

  @Test
  void aPosterBelongsToItsLoop() {
    try (LciTestJob job = LciTestJob.start(1)) {
      Poster poster = job.rank(0).loops().get(0).poster();
      assertThatThrownBy(() -> poster.tryPost(Op.am(0, PORT, Payload.empty())))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("loop's thread");
    }
  }

  @Test
  void tryPostSaysWhoIsSlow() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciLoop loop = job.rank(0).loops().get(0);
      job.rank(1).inbox(PORT, InboxOptions.builder().messages(4).build());
      List<PostOutcome> outcomes = new CopyOnWriteArrayList<>();
      Mono<PostOutcome> attempt =
          Mono.fromCallable(() -> loop.poster().tryPost(Op.am(1, PORT, Payload.ofLong(1))))
              .subscribeOn(loop.scheduler());
      await()
          .atMost(LIMIT)
          .until(
              () -> {
                outcomes.add(attempt.block(LIMIT));
                return outcomes.stream().filter(PostOutcome::isDone).count() >= 4
                    && outcomes.get(outcomes.size() - 1) == PostOutcome.RETRY_NOCREDIT;
              });
      assertThat(outcomes.stream().filter(PostOutcome::isDone).count())
          .isLessThanOrEqualTo(5); // and one announced
      assertThatThrownBy(() -> PostOutcome.RETRY_NOCREDIT.orThrow())
          .hasMessageContaining("retry_nocredit");
    }
  }

  @Test
  void submitReportsItsOutcomeOnce() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciLoop loop = job.rank(0).loops().get(0);
      List<PostOutcome> outcomes = new CopyOnWriteArrayList<>();
      Mono.fromRunnable(
              () ->
                  IntStream.range(0, 1000)
                      .forEach(
                          i ->
                              loop.poster()
                                  .submit(
                                      Op.am(1, PORT, Payload.ofLong(i)).onOutcome(outcomes::add))))
          .subscribeOn(loop.scheduler())
          .block(LIMIT);
      assertThat(job.rank(1).inbox(PORT).receive().take(1000).count().block(LIMIT)).isEqualTo(1000);
      await().atMost(LIMIT).until(() -> outcomes.size() == 1000);
      assertThat(outcomes).allMatch(PostOutcome::isDone);
    }
  }

  @Test
  void aThousandBarriers() {
    int size = 3;
    try (LciTestJob job = LciTestJob.start(size)) {
      AtomicInteger[] passed =
          IntStream.range(0, size).mapToObj(i -> new AtomicInteger()).toArray(AtomicInteger[]::new);
      Flux.range(0, size)
          .flatMap(
              rank ->
                  job.rank(rank)
                      .barrier()
                      .doOnSuccess(
                          v -> {
                            int mine = passed[rank].incrementAndGet();
                            for (AtomicInteger other : passed) {
                              // nobody is a whole barrier behind
                              assertThat(other.get()).isGreaterThanOrEqualTo(mine - 1);
                            }
                          })
                      .repeat(999)
                      .then(),
              size)
          .then()
          .block(LIMIT);
      assertThat(passed).allMatch(count -> count.get() == 1000);
    }
  }

  @Test
  void sendAndReceiveMatchByTag() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<Message> received =
          Flux.range(0, 200)
              .flatMap(tag -> job.rank(1).tagged().receive(0, tag), 200)
              .mergeWith(
                  Flux.range(0, 200)
                      .flatMap(
                          tag ->
                              job.rank(0)
                                  .tagged()
                                  .send(1, 199 - tag, Payload.ofLong(199 - tag))
                                  .then(Mono.<Message>empty()),
                          200))
              .collectList()
              .block(LIMIT);
      assertThat(received).hasSize(200).allMatch(m -> m.getLong(0) == m.tag() && m.rank() == 0);
    }
  }

  // Proves: U4
  @Test
  void largeMessagesAreReceivedWhole() {
    byte[] bytes = new byte[3_000_000];
    new java.util.Random(1).nextBytes(bytes);
    try (LciTestJob job = LciTestJob.start(2)) {
      var both =
          Mono.zip(
                  job.rank(1).tagged().receive(0, 9, bytes.length),
                  job.rank(0).tagged().send(1, 9, Payload.of(bytes)).thenReturn(1))
              .block(LIMIT);
      assertThat(both.getT1().toByteArray()).isEqualTo(bytes);
    }
  }

  @Test
  void aLongerMessageThanTheReceiveIsTruncated() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Mono<Void> sent = job.rank(0).tagged().send(1, 1, Payload.of(new byte[100]));
      StepVerifier.create(job.rank(1).tagged().receive(0, 1, 10))
          .then(() -> sent.block(LIMIT))
          .expectErrorSatisfies(
              e ->
                  assertThat(e)
                      .isInstanceOf(TruncatedException.class)
                      .hasMessageContaining("engine 0")
                      .hasMessageContaining("tag 1")
                      .hasMessageContaining("100 bytes")
                      .hasMessageContaining("room for 10")
                      .hasMessageNotContaining("port"))
          .verify(LIMIT);
    }
  }

  @Test
  void aCancelledReceiveLetsTheNextOneMatch() {
    try (LciTestJob job = LciTestJob.start(2)) {
      job.rank(1).tagged().receive(0, 5).subscribe().dispose();
      Disposable cancelled = job.rank(1).tagged().receive(0, 5).subscribe();
      await().atMost(LIMIT).until(() -> job.rank(1).snapshot().counter("receives_pending") >= 1);
      cancelled.dispose();
      await().atMost(LIMIT).until(() -> job.rank(1).snapshot().counter("receives_pending") == 0);
      Mono<Message> next = job.rank(1).tagged().receive(0, 5);
      assertThat(
              Mono.zip(next, job.rank(0).tagged().send(1, 5, Payload.ofLong(77)).thenReturn(1))
                  .block(LIMIT)
                  .getT1()
                  .getLong(0))
          .isEqualTo(77);
    }
  }

  @Test
  void anySourceReceivesFromWhoeverSends() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Op receive = Op.receive(Op.ANY_SOURCE, 3, 64);
      Op send = Op.send(1, 3, Payload.ofLong(8)).advanced(a -> a.matching(Op.Policy.TAG));
      Completion got =
          Mono.zip(job.rank(1).post(receive), job.rank(0).post(send)).block(LIMIT).getT1();
      assertThat(got.rank()).isZero();
      assertThat(got.message().getLong(0)).isEqualTo(8);
    }
  }

  @Test
  void aDeadlineSaysInWhichStateTheOperationWas() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Mono<Completion> parked =
          job.rank(0).post(Op.am(1, PORT, Payload.ofLong(1)).deadline(Duration.ofMillis(100)));
      StepVerifier.create(
              Flux.range(0, 3)
                  .flatMap(
                      i ->
                          parked.onErrorResume(
                              e -> {
                                assertThat(e)
                                    .isInstanceOf(DeadlineExceededException.class)
                                    .hasMessageContaining("retry_nocredit")
                                    .hasMessageContaining("rank 1")
                                    .hasMessageContaining("port " + PORT.number());
                                return Mono.empty();
                              })))
          .expectNextCount(1) // announced: the one message that needs no credit
          .expectComplete()
          .verify(LIMIT);
      Op unmatched = Op.receive(1, 1, 8).deadline(Duration.ofMillis(100));
      StepVerifier.create(job.rank(0).post(unmatched))
          .expectErrorSatisfies(
              e ->
                  assertThat(e)
                      .isInstanceOf(DeadlineExceededException.class)
                      .hasMessageContaining("posted")
                      .hasMessageContaining("engine 0")
                      .hasMessageContaining("tag 1 ")
                      .hasMessageContaining("8 bytes")
                      .hasMessageNotContaining("port"))
          .verify(LIMIT);
    }
  }

  @Test
  void cancelRemovesWhatWaits() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<Disposable> waiting =
          IntStream.range(0, 5000)
              .mapToObj(i -> job.rank(0).post(Op.am(1, PORT, Payload.ofLong(i))).subscribe())
              .toList();
      await().atMost(LIMIT).until(() -> job.rank(0).snapshot().counter("loop_parked") >= 4999);
      waiting.forEach(Disposable::dispose);
      await().atMost(LIMIT).until(() -> job.rank(0).snapshot().counter("loop_parked") == 0);
      assertThat(
              job.rank(1).inbox(PORT).receive().take(Duration.ofMillis(200)).count().block(LIMIT))
          .isLessThanOrEqualTo(1);
    }
  }

  // Proves: V4 U4
  @Test
  void waitingMonosGoOutInOrderAndNoMoreThanGranted() {
    int count = 100_000;
    try (LciTestJob job = LciTestJob.start(2)) {
      AtomicInteger ended = new AtomicInteger();
      for (int i = 0;
          i < count;
          i++) { // not flatMap: it looks at every waiting Mono at each completion
        job.rank(0).post(Op.am(1, PORT, Payload.ofLong(i))).subscribe(c -> ended.incrementAndGet());
      }
      await().atMost(LIMIT).until(() -> job.rank(0).snapshot().counter("loop_parked") > count - 10);
      LciSnapshot before = job.rank(0).snapshot();
      Flux<Long> received =
          job.rank(1)
              .inbox(PORT, InboxOptions.builder().messages(16).build())
              .receive(m -> m.getLong(0));
      assertThat(received.take(count).count().block(LIMIT)).isEqualTo(count);
      await().atMost(LIMIT).until(() -> ended.get() == count);
      LciSnapshot after = job.rank(0).snapshot();
      long resubmitted = after.counter("loop_resubmitted") - before.counter("loop_resubmitted");
      // each goes once, and a grant may cost one attempt that only finds its end
      assertThat(resubmitted).isBetween((long) count - 20, 3L * count);
    }
  }
}
