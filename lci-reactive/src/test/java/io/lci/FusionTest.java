/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.am.Inbox;
import io.lci.am.Port;
import io.lci.am.RetainedMessage;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.Consumer;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Disposable;
import reactor.core.Fuseable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.core.publisher.Sinks;
import reactor.core.scheduler.Schedulers;
import reactor.test.StepVerifier;
import reactor.util.context.Context;

/**
 * Operators that take from the inbox by fusion: nothing is lost, doubled or handed on too early.
 */
@ExtendWith(LciLeakCheck.class)
class FusionTest {
  private static final Port PORT = Port.of(7, "fusion-test");
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final int COUNT = 10_000;

  @Test
  void theInboxOffersAsynchronousFusion() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Disposable sending = send(job);
      StepVerifier.create(numbers(job), 4)
          .expectFusion(Fuseable.ASYNC)
          .expectNextCount(4)
          .thenCancel()
          .verify(LIMIT);
      StepVerifier.create(numbers(job), 4)
          .expectFusion(Fuseable.SYNC, Fuseable.NONE)
          .expectNextCount(4)
          .thenCancel()
          .verify(LIMIT);
      StepVerifier.create(job.rank(1).inbox(PORT).receiveBatches(8))
          .expectNoFusionSupport()
          .thenCancel()
          .verify(LIMIT);
      sent(sending, numbers(job).take(COUNT - 8));
    }
  }

  /** The operator drains on the loop: what it did not take stays a message. */
  @ParameterizedTest
  @ValueSource(ints = {1, 3, 256})
  void whatIsNotTakenIsForTheNextSubscriber(int demand) {
    try (LciTestJob job = LciTestJob.start(2)) {
      Disposable sending = send(job);
      List<Long> received = new ArrayList<>();
      while (received.size() < COUNT) {
        int some = Math.min(1 + received.size() % 77, COUNT - received.size());
        received.addAll(
            numbers(job).limitRate(demand).take(some).collectList().blockOptional(LIMIT).get());
      }
      assertThat(received).containsExactlyInAnyOrderElementsOf(all());
      sent(sending, Flux.empty());
    }
  }

  /** It drains elsewhere: what it took and did not emit is discarded, what it did not is not. */
  @ParameterizedTest
  @ValueSource(ints = {1, 3, 256})
  void aCancelElsewhereDiscardsWhatWasQueued(int prefetch) {
    try (LciTestJob job = LciTestJob.start(2)) {
      Disposable sending = send(job);
      Tally tally = new Tally();
      while (tally.left() > 0) {
        numbers(job)
            .publishOn(Schedulers.parallel(), prefetch)
            .take(tally.some())
            .takeUntilOther(tally.complete())
            .doOnNext(tally)
            .doOnDiscard(Long.class, tally)
            .blockLast(LIMIT);
      }
      tally.check();
      sent(sending, Flux.empty());
    }
  }

  /** An operator whose drain was cancelled clears there, and on the thread of who tells of more. */
  @RepeatedTest(10)
  void clearsAndPollsAtTheSameTimeTakeEachOnce() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Disposable sending = send(job);
      AtomicLongArray times = new AtomicLongArray(COUNT);
      Lazy taking = new Lazy(times);
      numbers(job).subscribe(taking);
      org.awaitility.Awaitility.await().atMost(LIMIT).until(() -> taking.source().size() == COUNT);
      CyclicBarrier begin = new CyclicBarrier(3);
      Stream.<Runnable>of(taking.source()::clear, taking.source()::clear, taking::pollAll)
          .map(action -> at(begin, action))
          .toList()
          .forEach(CompletableFuture::join);
      for (int number = 0; number < COUNT; number++) {
        assertThat(times.get(number)).as("times that %s was taken", number).isOne();
      }
      taking.source().cancel();
      org.awaitility.Awaitility.await().atMost(LIMIT).until(sending::isDisposed);
    }
  }

  /** Runs it on a thread of its own, when all have come. */
  private static CompletableFuture<Void> at(CyclicBarrier begin, Runnable action) {
    return CompletableFuture.runAsync(
        () -> {
          try {
            begin.await();
          } catch (InterruptedException | BrokenBarrierException e) {
            throw new IllegalStateException(e);
          }
          action.run();
        },
        task -> new Thread(task).start());
  }

  /** Asks for everything, and takes nothing until it is told to. */
  private static final class Lazy implements CoreSubscriber<Long> {
    private final List<String> signals = new CopyOnWriteArrayList<>();
    private final AtomicLongArray times;
    private final CompletableFuture<Fuseable.QueueSubscription<Long>> source =
        new CompletableFuture<>();

    Lazy(AtomicLongArray times) {
      this.times = times;
    }

    @Override
    public Context currentContext() {
      return Operators.enableOnDiscard(
          Context.empty(), number -> times.incrementAndGet(((Long) number).intValue()));
    }

    @Override
    @SuppressWarnings("unchecked") // it is what was subscribed to
    public void onSubscribe(Subscription subscription) {
      Fuseable.QueueSubscription<Long> offered = (Fuseable.QueueSubscription<Long>) subscription;
      assertThat(offered.requestFusion(Fuseable.ANY)).isEqualTo(Fuseable.ASYNC);
      source.complete(offered);
      offered.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(Long hint) {
      signals.add("next");
    }

    @Override
    public void onError(Throwable error) {
      signals.add("error");
    }

    @Override
    public void onComplete() {
      signals.add("complete");
    }

    Fuseable.QueueSubscription<Long> source() {
      return source.join();
    }

    void pollAll() {
      for (Long number = source().poll(); number != null; number = source().poll()) {
        times.incrementAndGet(number.intValue());
      }
    }
  }

  /** What came and what was discarded. A cancelled operator elsewhere may discard a bit later. */
  private static final class Tally implements Consumer<Long> {
    private final AtomicLong sum = new AtomicLong();
    private final AtomicInteger count = new AtomicInteger();
    private final Sinks.Empty<Void> complete = Sinks.empty();

    @Override
    public void accept(Long number) {
      sum.addAndGet(number);
      if (count.incrementAndGet() == COUNT) {
        complete.tryEmitEmpty();
      }
    }

    int left() {
      return COUNT - count.get();
    }

    /** At least one, even if what is left is being discarded just now. */
    int some() {
      int left = Math.max(1, left());
      return Math.min(1 + (COUNT - left) % 77, left);
    }

    /** Ends who waits for what another one discards. */
    Mono<Void> complete() {
      return complete.asMono();
    }

    void check() {
      assertThat(count).hasValue(COUNT);
      assertThat(sum).hasValue(all().stream().mapToLong(Long::longValue).sum());
    }
  }

  /** An operator that waits for another thread between two elements polls now here, now there. */
  @Test
  void nothingIsLostWhereTheTakersThreadChanges() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Disposable sending = send(job);
      List<Long> received =
          numbers(job)
              .concatMap(
                  number ->
                      number % 3 == 0
                          ? Mono.just(number).publishOn(Schedulers.parallel())
                          : Mono.just(number),
                  8)
              .take(COUNT)
              .collectList()
              .blockOptional(LIMIT)
              .get();
      assertThat(received).containsExactlyInAnyOrderElementsOf(all());
      sent(sending, Flux.empty());
    }
  }

  @Test
  void aDecoderThatFailsEndsItAndLeavesTheRest() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Disposable sending = send(job);
      AtomicInteger decoded = new AtomicInteger();
      Inbox inbox = job.rank(1).inbox(PORT);
      StepVerifier.create(
              inbox
                  .receive(
                      m -> {
                        if (decoded.incrementAndGet() == 100) {
                          throw new IllegalArgumentException("the hundredth");
                        }
                        return m.getLong(0);
                      })
                  .limitRate(256))
          .expectNextCount(99)
          .expectErrorMessage("the hundredth")
          .verify(LIMIT);
      sent(sending, numbers(job).limitRate(256).take(COUNT - 100));
    }
  }

  /** Who was told of the end is told of nothing else, also of what was queued before it. */
  @Test
  void nothingIsToldAfterTheEnd() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Inbox inbox = job.rank(1).inbox(PORT);
      Disposable sending = send(job);
      org.awaitility.Awaitility.await().atMost(LIMIT).until(() -> inbox.depth() > 1);
      AtomicInteger decoded = new AtomicInteger();
      Lazy taking = new Lazy(new AtomicLongArray(COUNT));
      inbox
          .receive(
              m -> {
                if (decoded.incrementAndGet() == 2) {
                  throw new IllegalArgumentException("the second");
                }
                return m.getLong(0);
              })
          .subscribe(taking);
      org.awaitility.Awaitility.await().atMost(LIMIT).until(() -> taking.signals.contains("error"));
      taking.pollAll();
      sent(sending, numbers(job).take(COUNT - 2));
      assertThat(taking.signals).containsExactly("next", "error");
    }
  }

  @Test
  void messagesKeptForItAreTakenToo() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Disposable sending = send(job);
      List<Long> received = new ArrayList<>();
      received.addAll(numbers(job).take(10).collectList().blockOptional(LIMIT).get());
      received.addAll(
          numbers(job).limitRate(64).take(COUNT - 10).collectList().blockOptional(LIMIT).get());
      assertThat(received).containsExactlyInAnyOrderElementsOf(all());
      sent(sending, Flux.empty());
    }
  }

  @Test
  void retainedMessagesAreTakenSo() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Disposable sending = send(job);
      Long sum =
          job.rank(1)
              .inbox(PORT)
              .receiveRetained()
              .limitRate(8)
              .take(COUNT)
              .map(FusionTest::release)
              .reduce(0L, Long::sum)
              .block(LIMIT);
      assertThat(sum).isEqualTo(all().stream().mapToLong(Long::longValue).sum());
      sent(sending, Flux.empty());
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3, 32})
  void retainedMessagesThatWereQueuedElsewhereAreReleasedAtACancel(int prefetch) {
    try (LciTestJob job = LciTestJob.start(2)) {
      Disposable sending = send(job);
      Tally tally = new Tally();
      while (tally.left() > 0) {
        job.rank(1)
            .inbox(PORT)
            .receiveRetained()
            .publishOn(Schedulers.parallel(), prefetch)
            .take(tally.some())
            .takeUntilOther(tally.complete())
            .doOnNext(message -> tally.accept(release(message)))
            .doOnDiscard(RetainedMessage.class, message -> tally.accept(release(message)))
            .blockLast(LIMIT);
      }
      tally.check();
      sent(sending, Flux.empty());
    }
  }

  private static long release(RetainedMessage message) {
    long number = message.getLong(0);
    message.release();
    return number;
  }

  private static Flux<Long> numbers(LciTestJob job) {
    return job.rank(1).inbox(PORT).receive(m -> m.getLong(0));
  }

  private static List<Long> all() {
    return LongStream.range(0, COUNT).boxed().toList();
  }

  private static Disposable send(LciTestJob job) {
    return job.rank(0)
        .sender(PORT)
        .sendAll(1, Flux.range(0, COUNT), (number, out) -> out.putLong(number))
        .subscribe();
  }

  /** All that was sent is accepted when the rest is taken. */
  private static void sent(Disposable sending, Flux<Long> rest) {
    rest.blockLast(LIMIT);
    org.awaitility.Awaitility.await().atMost(LIMIT).until(sending::isDisposed);
  }
}
