/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.completion.Completion;
import io.lci.completion.Counter;
import io.lci.completion.Synchronizer;
import io.lci.error.LciClosedException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

/** Synchronizers and counters, signalled by operations and by arrivals. */
@ExtendWith(LciLeakCheck.class)
class CompletionObjectsTest {
  private static final Port PORT = Port.of(31, "objects");
  private static final Duration LIMIT = Duration.ofSeconds(60);

  @Test
  void aSynchronizerFiresPerThreshold() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Disposable handling = job.rank(1).inbox(PORT).handle(m -> {});
      Synchronizer synchronizer = job.rank(0).completions().synchronizer(3);
      Flux<Completion> posts =
          Flux.range(0, 9)
              .concatMap(
                  i ->
                      job.rank(0)
                          .post(Op.am(1, PORT, Payload.ofLong(i)).tag(i).completeTo(synchronizer)));
      StepVerifier.create(
              synchronizer
                  .firings()
                  .take(3)
                  .flatMapIterable(
                      firing -> {
                        assertThat(firing).hasSize(3);
                        return firing;
                      })
                  .map(Completion::tag)
                  .sort())
          .then(posts::blockLast)
          .expectNext(0L, 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L)
          .expectComplete()
          .verify(LIMIT);
      handling.dispose();
      synchronizer.dispose();
    }
  }

  @Test
  void aLargePayloadSignalsToo() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Disposable handling = job.rank(1).inbox(PORT).handle(m -> {});
      Synchronizer synchronizer = job.rank(0).completions().synchronizer(1);
      Counter counter = job.rank(0).completions().counter();
      byte[] large = new byte[100_000];
      Mono.when(
              job.rank(0).post(Op.am(1, PORT, Payload.of(large)).completeTo(synchronizer)),
              job.rank(0).post(Op.am(1, PORT, Payload.of(large)).completeTo(counter)))
          .block(LIMIT);
      assertThat(synchronizer.next().block(LIMIT))
          .singleElement()
          .satisfies(c -> assertThat(c.size()).isEqualTo(large.length));
      assertThat(counter.reaches(1).block(LIMIT)).isEqualTo(1);
      handling.dispose();
    }
  }

  @Test
  void aFiringWithoutWaiterIsKeptAndCancelConsumesNothing() {
    try (LciTestJob job = LciTestJob.start(1)) {
      Disposable handling = job.rank(0).inbox(PORT).handle(m -> {});
      Synchronizer synchronizer = job.rank(0).completions().synchronizer(1);
      Disposable early = synchronizer.next().subscribe();
      early.dispose();
      job.rank(0)
          .post(Op.am(0, PORT, Payload.empty()).tag(5).completeTo(synchronizer))
          .block(LIMIT);
      job.rank(0).barrier().block(LIMIT); // the firing has been recorded
      List<Completion> firing = synchronizer.next().block(LIMIT);
      assertThat(firing).hasSize(1);
      assertThat(firing.get(0).tag()).isEqualTo(5);
      handling.dispose();
    }
  }

  @Test
  void aSecondWaiterIsAnErrorAndDisposeEndsTheFirst() {
    try (LciTestJob job = LciTestJob.start(1)) {
      Synchronizer synchronizer = job.rank(0).completions().synchronizer(1);
      StepVerifier.create(synchronizer.next())
          .then(
              () ->
                  StepVerifier.create(synchronizer.firings())
                      .expectError(IllegalStateException.class)
                      .verify(LIMIT))
          .then(synchronizer::dispose)
          .expectError(LciClosedException.class)
          .verify(LIMIT);
      StepVerifier.create(synchronizer.next()).expectError(LciClosedException.class).verify(LIMIT);
    }
  }

  @Test
  void aCounterCountsOperations() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Disposable handling = job.rank(1).inbox(PORT).handle(m -> {});
      Counter counter = job.rank(0).completions().counter();
      Mono<Long> reached = counter.reaches(1000).cache();
      Disposable waiting = reached.subscribe();
      Flux.range(0, 1000)
          .flatMap(i -> job.rank(0).post(Op.am(1, PORT, Payload.ofLong(i)).completeTo(counter)), 32)
          .blockLast(LIMIT);
      assertThat(reached.block(LIMIT)).isEqualTo(1000);
      await().atMost(LIMIT).until(waiting::isDisposed);
      counter.set(5);
      assertThat(counter.get()).isEqualTo(5);
      handling.dispose();
      counter.dispose();
    }
  }

  @Test
  void aBoundCounterCountsArrivalsWithoutCredit() {
    int count = 20_000;
    try (LciTestJob job = LciTestJob.start(2)) {
      Counter counter = job.rank(1).completions().counter();
      Disposable bound = job.rank(1).completions().bind(PORT, counter);
      job.rank(0).sender(PORT).sendAll(1, Flux.range(0, count), (n, out) -> {}).block(LIMIT);
      assertThat(counter.reaches(count).block(LIMIT)).isEqualTo(count);
      bound.dispose();
    }
  }
}
