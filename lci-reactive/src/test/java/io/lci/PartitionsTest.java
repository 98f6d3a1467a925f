/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.lci.am.Inbox;
import io.lci.am.InboxOptions;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.am.RetainedMessage;
import io.lci.am.Sender;
import io.lci.am.SenderOptions;
import io.lci.error.LciClosedException;
import io.lci.error.LciException;
import io.lci.error.PortClosedException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.test.StepVerifier;
import reactor.util.retry.Retry;

/** Ports whose messages several loops take. */
@ExtendWith(LciLeakCheck.class)
class PartitionsTest {
  private static final Port PORT = Port.of(52, "partitions");
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final LciOptions THREE_LOOPS = LciOptions.builder().loops(3).build();

  private static Mono<Void> send(LciTestJob job, int count, int bytes) {
    return job.rank(0)
        .sender(PORT)
        .sendAll(
            1,
            Flux.range(0, count),
            (n, out) -> out.tag(n).putInt(n).putBytes(new byte[bytes], 0, bytes));
  }

  /** The messages of a key come on one loop, whatever their size and the way they take. */
  @Test
  void theTagChoosesTheLoop() {
    int parts = 4; // on three loops
    int count = 4_000;
    try (LciTestJob job = LciTestJob.start(2, THREE_LOOPS)) {
      Inbox inbox =
          job.rank(1).inbox(PORT, InboxOptions.builder().loop(1).partitions(parts).build());
      assertThat(inbox.partitions()).hasSize(parts);
      for (int bytes : new int[] {0, 3_000}) {
        List<Mono<Integer>> taken =
            IntStream.range(0, parts)
                .mapToObj(
                    part ->
                        inbox
                            .partitions()
                            .get(part)
                            .receive(
                                m -> {
                                  assertThat(m.getInt(0) % parts).isEqualTo(part);
                                  assertThat(Thread.currentThread().getName())
                                      .isEqualTo("lci-loop-" + (1 + part) % 3);
                                  return m.getInt(0);
                                })
                            .take(count / parts)
                            .reduce(0, Integer::sum))
                .toList();
        Mono<Integer> sum = Flux.merge(taken).reduce(0, Integer::sum);
        assertThat(Mono.zip(sum, send(job, count, bytes).thenReturn(1)).block(LIMIT).getT1())
            .isEqualTo(count * (count - 1) / 2);
      }
      inbox.dispose();
      inbox.onClose().block(LIMIT);
    }
  }

  /** Leases, too, and what a subscriber leaves is there for the next one. */
  @Test
  void eachPartIsAnInbox() {
    int count = 300;
    try (LciTestJob job = LciTestJob.start(2, THREE_LOOPS)) {
      Inbox inbox = job.rank(1).inbox(PORT, InboxOptions.builder().partitions(3).build());
      Mono<Void> sent = send(job, count, 3_000).cache();
      sent.subscribe();
      List<Integer> sizes = new CopyOnWriteArrayList<>();
      for (int half = 0; half < 2; half++) {
        for (Inbox part : inbox.partitions()) {
          Flux<Integer> taken =
              part.receiveRetained()
                  .map(
                      m -> {
                        int size = m.size();
                        m.release();
                        return size;
                      })
                  .take(count / 6);
          sizes.addAll(taken.collectList().block(LIMIT));
        }
      }
      sent.block(LIMIT);
      assertThat(sizes).hasSize(count).containsOnly(3_004);
      assertThat(inbox.capacity()).isEqualTo(InboxOptions.DEFAULT_MESSAGES);
      assertThat(inbox.depth()).isZero();
      assertThat(job.rank(1).snapshot().inboxes()).hasSize(1);
    }
  }

  @Test
  void theWholeHasNoSubscribers() {
    try (LciTestJob job = LciTestJob.start(1, THREE_LOOPS)) {
      Inbox inbox = job.rank(0).inbox(PORT, InboxOptions.builder().partitions(2).build());
      for (Flux<?> whole :
          List.of(inbox.receive(), inbox.receive(m -> 1), inbox.receiveRetained())) {
        StepVerifier.create(whole)
            .expectErrorSatisfies(
                e ->
                    assertThat(e)
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("partitions()"))
            .verify(LIMIT);
      }
      assertThatThrownBy(() -> inbox.handle(m -> {})).hasMessageContaining("partitions()");
      assertThat(job.rank(0).inbox(PORT)).isSameAs(inbox);
    }
  }

  /** The parts share one capacity: what nobody takes is bounded by it, and shows as one depth. */
  @Test
  void thePartsShareTheCapacity() {
    try (LciTestJob job = LciTestJob.start(2, THREE_LOOPS)) {
      Inbox inbox =
          job.rank(1).inbox(PORT, InboxOptions.builder().messages(30).partitions(3).build());
      List<Throwable> errors = new CopyOnWriteArrayList<>();
      Disposable sending = send(job, 100, 0).subscribe(none -> {}, errors::add);
      await().atMost(LIMIT).until(() -> inbox.depth() >= 20); // leases hold some of it back
      assertThat(inbox.depth()).isLessThanOrEqualTo(30);
      await() // two loops may have taken 20 before the third one took its first
          .atMost(LIMIT)
          .until(() -> inbox.partitions().stream().allMatch(part -> part.depth() > 0));
      assertThat(inbox.depth()).isLessThanOrEqualTo(30);
      Flux<Integer> all =
          Flux.merge(
              inbox.partitions().stream()
                  .map(part -> part.<Integer>receive(m -> m.getInt(0)))
                  .toList());
      assertThat(all.take(100).collectList().block(LIMIT)).doesNotHaveDuplicates();
      await().atMost(LIMIT).until(sending::isDisposed);
      assertThat(errors).isEmpty();
    }
  }

  /**
   * One part's end is the port's: the others complete, senders are told, and it may be opened anew.
   */
  @Test
  void disposingAPartClosesThePort() {
    try (LciTestJob job = LciTestJob.start(2, THREE_LOOPS)) {
      InboxOptions options = InboxOptions.builder().partitions(3).build();
      Inbox inbox = job.rank(1).inbox(PORT, options);
      List<Boolean> completed = new CopyOnWriteArrayList<>();
      inbox
          .partitions()
          .forEach(
              part ->
                  part.receive()
                      .subscribe(m -> {}, e -> completed.add(false), () -> completed.add(true)));
      assertThatThrownBy(() -> inbox.partitions().get(0).handle(m -> {}))
          .hasMessageContaining("live subscriber");
      send(job, 10, 0).block(LIMIT);
      inbox.partitions().get(1).dispose();
      inbox.onClose().block(LIMIT);
      await().atMost(LIMIT).until(() -> completed.equals(List.of(true, true, true)));
      assertThat(inbox.isDisposed()).isTrue();
      // Until the news of the end has come to the sender, what it sends is taken and discarded.
      Mono<Void> refused =
          send(job, 10, 0).delaySubscription(Duration.ofMillis(10)).repeat().then();
      assertThatThrownBy(() -> refused.block(LIMIT)).isInstanceOf(PortClosedException.class);
      Inbox again = job.rank(1).inbox(PORT, options);
      assertThat(again).isNotSameAs(inbox);
      // The news of the opening is on its way to the sender
      Mono<Void> sent =
          send(job, 1, 0)
              .retryWhen(
                  Retry.fixedDelay(6_000, Duration.ofMillis(10))
                      .filter(PortClosedException.class::isInstance));
      Flux<?> first = again.partitions().get(0).receive(); // tag 0
      assertThat(Mono.zip(first.next(), sent.thenReturn(1)).block(LIMIT).getT2()).isOne();
    }
  }

  /** Every part hears that the port is not to be had, so that nobody waits for one of them. */
  @Test
  void aPortThatCouldNotBeOpenedInPartsIsOpenedLater() {
    try (LciTestJob job = LciTestJob.start(2, THREE_LOOPS)) {
      LciRuntime lci = job.rank(1);
      Disposable bound = lci.completions().bind(PORT, lci.completions().counter());
      assertThatThrownBy(() -> lci.inbox(PORT, InboxOptions.builder().partitions(3).build()))
          .isInstanceOf(LciException.class)
          .hasMessageContaining("open port " + PORT);
      bound.dispose();
      Mono<Inbox> later =
          Mono.fromCallable(() -> lci.inbox(PORT)).subscribeOn(Schedulers.boundedElastic());
      Inbox inbox = later.block(LIMIT);
      send(job, 100, 8).block(LIMIT);
      assertThat(inbox.receive().take(100).count().block(LIMIT)).isEqualTo(100);
    }
  }

  @Test
  void closingTheRuntimeFailsEveryPart() {
    List<Throwable> ends = new CopyOnWriteArrayList<>();
    try (LciTestJob job = LciTestJob.start(1, THREE_LOOPS)) {
      Inbox inbox = job.rank(0).inbox(PORT, InboxOptions.builder().partitions(3).build());
      inbox.partitions().forEach(part -> part.receive().subscribe(m -> {}, ends::add));
    }
    assertThat(ends)
        .hasSize(3)
        .allSatisfy(e -> assertThat(e).isInstanceOf(LciClosedException.class));
  }

  /** What a whole inbox says of parts, and where its signals may come. */
  @Test
  void signalsComeWhereOptionsSay() {
    try (LciTestJob job = LciTestJob.start(2, THREE_LOOPS)) {
      LciLoop second = job.rank(1).loops().get(2);
      Inbox inbox =
          job.rank(1).inbox(PORT, InboxOptions.builder().signalOn(second.scheduler()).build());
      assertThat(inbox.partitions()).containsExactly(inbox);
      Mono<Map<String, Long>> threads =
          inbox
              .receiveRetained()
              .doOnNext(RetainedMessage::release)
              .take(50)
              .collect(
                  java.util.stream.Collectors.groupingBy(
                      m -> Thread.currentThread().getName(),
                      java.util.stream.Collectors.counting()));
      assertThat(Mono.zip(threads, send(job, 50, 3_000).thenReturn(1)).block(LIMIT).getT1())
          .isEqualTo(Map.of("lci-loop-2", 50L));
    }
  }

  /** Ends and results of a sender, too. */
  @Test
  void aSenderSignalsWhereItsOptionsSay() {
    try (LciTestJob job = LciTestJob.start(1, THREE_LOOPS)) {
      LciRuntime lci = job.rank(0);
      lci.inbox(PORT).handle(m -> {});
      SenderOptions elsewhere =
          SenderOptions.builder().signalOn(lci.loops().get(2).scheduler()).build();
      Sender sender = lci.sender(PORT, elsewhere);
      Mono<String> one = sender.send(0, Payload.ofInt(1)).then(here());
      Mono<String> all =
          sender.sendAll(0, Flux.range(0, 9), (n, out) -> out.putInt(n)).then(here());
      Flux<String> results =
          sender
              .route(Flux.range(0, 9), n -> 0, (n, out) -> out.putInt(n))
              .map(result -> Thread.currentThread().getName());
      for (Mono<String> where : List.of(one, all, results.distinct().single())) {
        assertThat(where.block(LIMIT)).isEqualTo("lci-loop-2");
      }
    }
  }

  private static Mono<String> here() {
    return Mono.fromCallable(() -> Thread.currentThread().getName());
  }
}
