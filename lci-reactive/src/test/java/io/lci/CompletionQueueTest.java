/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.am.SenderOptions;
import io.lci.completion.Completion;
import io.lci.completion.CompletionQueue;
import io.lci.completion.QueueOptions;
import io.lci.error.LciClosedException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.Disposable;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

/** Completion queues as Flux: demand is what is popped, cancel keeps the rest. [U5] */
@ExtendWith(LciLeakCheck.class)
class CompletionQueueTest {
  private static final Port PORT = Port.of(33, "queued");
  private static final Duration LIMIT = Duration.ofSeconds(60);

  // Proves: U5
  // On: inproc
  @ParameterizedTest
  @EnumSource(QueueOptions.Kind.class)
  void demandBoundsWhatIsPopped(QueueOptions.Kind kind) {
    try (LciTestJob job = LciTestJob.start(2)) {
      Disposable handling = job.rank(1).inbox(PORT).handle(m -> {});
      CompletionQueue queue =
          job.rank(0).completions().queue(QueueOptions.builder().kind(kind).capacity(256).build());
      Flux.range(0, 100)
          .concatMap(
              i ->
                  job.rank(0)
                      .post(
                          Op.am(1, PORT, Payload.ofLong(i))
                              .tag(i)
                              .userContext(-i)
                              .completeTo(queue)))
          .blockLast(LIMIT);
      assertThat(queue.length()).isEqualTo(100);
      StepVerifier.create(queue.completions(), 0)
          .thenRequest(10)
          .expectNextCount(10)
          .then(() -> assertThat(queue.length()).isEqualTo(90))
          .thenCancel()
          .verify(LIMIT);
      List<Completion> rest = queue.completions().take(90).collectList().block(LIMIT);
      assertThat(rest).extracting(Completion::tag).startsWith(10L).endsWith(99L);
      assertThat(rest).allMatch(c -> c.userContext() == -c.tag() && c.error() == null);
      assertThat(queue.length()).isZero();
      handling.dispose();
      queue.dispose();
    }
  }

  // Proves: U5
  // On: inproc
  @Test
  void whatACancelledSubscriberDidNotTakeStays() {
    try (LciTestJob job = LciTestJob.start(1)) {
      Disposable handling = job.rank(0).inbox(PORT).handle(m -> {});
      CompletionQueue queue = job.rank(0).completions().queue(QueueOptions.defaults());
      Flux.range(0, 50)
          .concatMap(
              i -> job.rank(0).post(Op.am(0, PORT, Payload.empty()).tag(i).completeTo(queue)))
          .blockLast(LIMIT);
      // Unbounded demand pops more at once than the first subscriber takes.
      List<Completion> first = queue.completions().take(7, false).collectList().block(LIMIT);
      List<Completion> second = queue.completions().take(43).collectList().block(LIMIT);
      List<Long> tags = new ArrayList<>();
      first.forEach(c -> tags.add(c.tag()));
      second.forEach(c -> tags.add(c.tag()));
      assertThat(tags).hasSize(50).doesNotHaveDuplicates().isSorted();
      handling.dispose();
    }
  }

  @Test
  void aSecondSubscriberIsAnErrorAndDisposeEndsTheFirst() {
    try (LciTestJob job = LciTestJob.start(1)) {
      CompletionQueue queue = job.rank(0).completions().queue(QueueOptions.defaults());
      StepVerifier.create(queue.completions())
          .then(
              () ->
                  StepVerifier.create(queue.completions())
                      .expectError(IllegalStateException.class)
                      .verify(LIMIT))
          .then(queue::dispose)
          .expectError(LciClosedException.class)
          .verify(LIMIT);
      StepVerifier.create(queue.completions()).expectError(LciClosedException.class).verify(LIMIT);
    }
  }

  @Test
  void aCloseEndsTheSubscriber() {
    Mono<Long> count;
    try (LciTestJob job = LciTestJob.start(1)) {
      CompletionQueue queue = job.rank(0).completions().queue(QueueOptions.defaults());
      count = queue.completions().count().cache();
      count.subscribe(n -> {}, error -> {});
    }
    StepVerifier.create(count).expectError(LciClosedException.class).verify(LIMIT);
  }

  /** Without demand no credit returns: the sender's posts wait, and nothing is lost. */
  @ParameterizedTest
  @EnumSource(QueueOptions.Kind.class)
  void aBoundQueueStoresArrivalsUnderTheirCredit(QueueOptions.Kind kind) {
    int count = 5_000;
    try (LciTestJob job = LciTestJob.start(2)) {
      CompletionQueue queue =
          job.rank(1)
              .completions()
              .queue(QueueOptions.builder().kind(kind).capacity(2_048).build());
      Disposable bound = job.rank(1).completions().bind(PORT, queue);
      Mono<Long> sent =
          job.rank(0)
              .sender(PORT, SenderOptions.defaults())
              .route(
                  Flux.range(0, count), n -> 1, (n, out) -> out.tag(n).putBytes(new byte[n % 400]))
              .filter(result -> result.error() == null)
              .map(PostResult::item)
              .count()
              .cache();
      sent.subscribe();
      await().atMost(LIMIT).until(() -> queue.length() > 100);
      long[] sums = new long[2];
      queue
          .completions()
          .take(count)
          .doOnNext(
              c -> {
                Message message = c.message();
                assertThat(c.kind()).isEqualTo(Completion.Kind.ARRIVAL);
                assertThat(message.size())
                    .isEqualTo((int) (c.tag() % 400))
                    .isEqualTo((int) c.size());
                sums[0] += c.tag();
                sums[1]++;
              })
          .blockLast(LIMIT);
      assertThat(sent.block(LIMIT)).isEqualTo(count);
      assertThat(sums[1]).isEqualTo(count);
      assertThat(sums[0]).isEqualTo((long) count * (count - 1) / 2);
      bound.dispose();
      queue.dispose();
    }
  }

  /** What a receive brought comes with its completion, though its memory is the loop's. */
  @Test
  void completionsOfReceivesBringTheirMessages() {
    try (LciTestJob job = LciTestJob.start(2)) {
      CompletionQueue queue = job.rank(1).completions().queue(QueueOptions.defaults());
      Mono.fromRunnable(
              () -> {
                Poster poster = job.rank(1).loops().get(0).poster();
                for (int i = 0; i < 20; i++) {
                  poster.submit(Op.receive(0, i, 10_000).completeTo(queue).userContext(100 + i));
                }
              })
          .subscribeOn(job.rank(1).loops().get(0).scheduler())
          .block(LIMIT);
      Flux.range(0, 20)
          .concatMap(i -> job.rank(0).tagged().send(1, i, Payload.of(new byte[i * 500])))
          .blockLast(LIMIT);
      List<Completion> received = queue.completions().take(20).collectList().block(LIMIT);
      assertThat(received)
          .allSatisfy(
              c -> {
                assertThat(c.userContext()).isEqualTo(100 + (int) c.tag());
                assertThat(c.message().size()).isEqualTo(500 * (int) c.tag());
              });
      queue.dispose();
    }
  }

  /** Cancel inside onNext, again and again, while completions come. */
  @Test
  void nothingIsLostByCancelsWhileItIsFilled() {
    int count = 2_000;
    try (LciTestJob job = LciTestJob.start(1)) {
      Disposable handling = job.rank(0).inbox(PORT).handle(m -> {});
      CompletionQueue queue =
          job.rank(0).completions().queue(QueueOptions.builder().capacity(4_096).build());
      Mono<Void> posts =
          Flux.range(0, count)
              .flatMap(
                  i -> job.rank(0).post(Op.am(0, PORT, Payload.empty()).tag(i).completeTo(queue)),
                  16)
              .then();
      Mono<Boolean> posted = posts.thenReturn(true).cache();
      posted.subscribe();
      boolean[] seen = new boolean[count];
      for (int taken = 0; taken < count; ) {
        List<Completion> some =
            queue.completions().take(Math.min(3, count - taken), false).collectList().block(LIMIT);
        for (Completion c : some) {
          assertThat(seen[(int) c.tag()]).as("tag %d came before", c.tag()).isFalse();
          seen[(int) c.tag()] = true;
        }
        taken += some.size();
      }
      assertThat(posted.block(LIMIT)).isTrue();
      assertThat(queue.length()).isZero();
      handling.dispose();
    }
  }

  @Test
  void aBadRequestIsRefused() {
    try (LciTestJob job = LciTestJob.start(1)) {
      CompletionQueue queue = job.rank(0).completions().queue(QueueOptions.defaults());
      Mono<Throwable> failure =
          Mono.create(
              sink ->
                  queue
                      .completions()
                      .subscribe(
                          new BaseSubscriber<>() {
                            @Override
                            protected void hookOnSubscribe(org.reactivestreams.Subscription s) {
                              s.request(-1);
                            }

                            @Override
                            protected void hookOnError(Throwable error) {
                              sink.success(error);
                            }
                          }));
      assertThat(failure.block(LIMIT)).isInstanceOf(IllegalArgumentException.class);
      queue.dispose();
    }
  }
}
