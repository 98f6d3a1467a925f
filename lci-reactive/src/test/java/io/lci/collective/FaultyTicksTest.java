/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.LciRuntime;
import io.lci.error.LciClosedException;
import io.lci.error.PeerFailedException;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;
import reactor.test.subscriber.TestSubscriber;

/** Ticks of a plan that break the rules: its runs end all the same. */
class FaultyTicksTest {
  private static final Duration LIMIT = Duration.ofSeconds(20);

  static Stream<Throwable> thrown() {
    return Stream.of(new IllegalStateException("broken"), new AssertionError("broken"));
  }

  private static <T> T thrown(Throwable what) {
    if (what instanceof Error error) {
      throw error;
    }
    throw (RuntimeException) what;
  }

  /** Ticks that come at each request, if at all. */
  private static Publisher<Integer> ticks(Runnable request, Runnable cancel) {
    return runs ->
        runs.onSubscribe(
            new Subscription() {
              @Override
              public void request(long n) {
                request.run();
              }

              @Override
              public void cancel() {
                cancel.run();
              }
            });
  }

  private static CollectivePlan plan(LciRuntime lci, int depth) {
    List<Vec> data = Stream.generate(() -> Vec.longs(new long[1])).limit(depth).toList();
    return lci.world().plan().broadcast(0, data).build();
  }

  @ParameterizedTest
  @MethodSource("thrown")
  void thatThrowWhenTheyAreSubscribedTo(Throwable what) {
    try (LciTestJob job = LciTestJob.start(1)) {
      StepVerifier.create(plan(job.rank(0), 1).runs(runs -> thrown(what)))
          .expectErrorMatches(error -> error == what)
          .verify(LIMIT);
    }
  }

  @ParameterizedTest
  @MethodSource("thrown")
  void thatThrowWhenTheyAreAsked(Throwable what) {
    try (LciTestJob job = LciTestJob.start(1)) {
      StepVerifier.create(plan(job.rank(0), 1).runs(ticks(() -> thrown(what), () -> {})))
          .expectErrorMatches(error -> error == what)
          .verify(LIMIT);
    }
  }

  @ParameterizedTest
  @MethodSource("thrown")
  void thatCannotBeCancelledWhenARunFails(Throwable what) {
    try (LciTestJob job = LciTestJob.start(2)) {
      AtomicReference<Subscriber<? super Integer>> asking = new AtomicReference<>();
      Publisher<Integer> ticks =
          runs -> ticks(() -> asking.set(runs), () -> thrown(what)).subscribe(runs);
      Mono<Long> run = plan(job.rank(0), 2).runs(ticks).last().cache();
      run.subscribe(number -> {}, error -> {});
      await().atMost(LIMIT).until(() -> asking.get() != null);
      asking.get().onNext(1);
      job.rank(1).abort();
      StepVerifier.create(run).expectError(PeerFailedException.class).verify(LIMIT);
    }
  }

  @ParameterizedTest
  @MethodSource("thrown")
  void thatCannotBeCancelledAtTheClose(Throwable what) {
    try (LciTestJob job = LciTestJob.start(1)) {
      TestSubscriber<Long> runs = TestSubscriber.create();
      plan(job.rank(0), 1).runs(ticks(() -> {}, () -> thrown(what))).subscribe(runs);
      job.rank(0).barrier().block(LIMIT);
      job.rank(0).abort();
      runs.block(LIMIT);
      assertThat(runs.expectTerminalError()).isInstanceOf(LciClosedException.class);
    }
  }

  /** Runs would write into memory that the subscriber still reads. */
  @Test
  void thatComeUnasked() {
    try (LciTestJob job = LciTestJob.start(1)) {
      CompletableFuture<Subscriber<? super Integer>> asked = new CompletableFuture<>();
      AtomicBoolean cancelled = new AtomicBoolean();
      Publisher<Integer> ticks =
          subscriber ->
              subscriber.onSubscribe(
                  new Subscription() {
                    @Override
                    public void request(long count) {
                      asked.complete(subscriber);
                    }

                    @Override
                    public void cancel() {
                      cancelled.set(true);
                    }
                  });
      TestSubscriber<Long> runs = TestSubscriber.builder().initialRequest(1).build();
      plan(job.rank(0), 2).runs(ticks).subscribe(runs);
      Subscriber<? super Integer> source = asked.orTimeout(LIMIT.toSeconds(), SECONDS).join();
      for (int tick = 1; tick <= 5; tick++) {
        source.onNext(tick);
      }
      await().atMost(LIMIT).until(() -> runs.getReceivedOnNext().size() == 1);
      runs.request(10);
      runs.block(LIMIT);
      assertThat(runs.expectTerminalError())
          .hasMessageContaining("more ticks came than were asked for");
      assertThat(runs.getReceivedOnNext().size()).isBetween(1, 2);
      assertThat(cancelled).isTrue();
    }
  }
}
