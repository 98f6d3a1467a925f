/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.am.Inbox;
import io.lci.am.InboxOptions;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.completion.Counter;
import io.lci.error.LciClosedException;
import io.lci.error.LciException;
import io.lci.error.PeerFailedException;
import io.lci.error.PeerLeftException;
import io.lci.rma.MemoryRegion;
import io.lci.rma.RemoteMemory;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;
import reactor.test.StepVerifier;

/** A stream of operations through one bulk operator. */
@ExtendWith(LciLeakCheck.class)
class BulkPostTest {
  private static final Port PORT = Port.of(12, "bulk-post");
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final PostOptions OPTIONS = PostOptions.defaults();
  private static final String CHAOS = "seed=4,delay=0.2,ticks=12,refuse=0.2,short=0.2";

  /** Active messages, sends, puts and gets of one stream, each with its result. */
  // Proves: U4
  // On: inproc, chaos
  @ParameterizedTest(name = "chaos \"{0}\"")
  @ValueSource(strings = {"", CHAOS})
  void everyKindOfOperation(String chaos) {
    int count = 8_000;
    try (LciTestJob job = start(2, chaos)) {
      MemoryRegion region = job.rank(1).memory().allocate(8L * count);
      RemoteMemory remote = job.rank(0).memory().remote(1, region.handle());
      for (int i = 0; i < count; i++) {
        region.view(8L * i, 8).putLong(0, value(i));
      }
      BitSet messages = new BitSet();
      Mono<Long> received =
          job.rank(1)
              .inbox(PORT)
              .receive(m -> (int) m.getLong(0))
              .take(count / 4)
              .doOnNext(n -> markOnce(messages, n))
              .count();
      Mono<List<PostResult<Integer>>> matched =
          job.rank(1)
              .post(
                  Flux.range(0, count).filter(i -> i % 4 == 1),
                  i -> Op.receive(0, i, 64),
                  OPTIONS.mutate().window(64).build())
              .collectList();
      Mono<List<PostResult<Integer>>> posted =
          job.rank(0).post(Flux.range(0, count), i -> operation(i, remote), OPTIONS).collectList();
      var all = Mono.zip(received, matched, posted).block(LIMIT);
      assertThat(all.getT2()).hasSize(count / 4).allMatch(PostResult::isSuccess);
      for (PostResult<Integer> receive : all.getT2()) {
        assertThat(receive.completion().message().getLong(0)).isEqualTo(value(receive.item()));
        assertThat(receive.rank()).isZero();
      }
      BitSet results = new BitSet();
      for (PostResult<Integer> result : all.getT3()) {
        markOnce(results, result.item());
        assertThat(result.error()).isNull();
        assertThat(result.rank()).isEqualTo(1);
        assertThat(result.completion().userContext()).isEqualTo(result.item());
        if (result.item() % 4 == 3) {
          assertThat(result.completion().message().getLong(0)).isEqualTo(value(result.item()));
        }
      }
      assertThat(results.cardinality()).isEqualTo(count);
      for (int i = 2; i < count; i += 4) {
        assertThat(region.view(8L * i, 8).getLong(0)).isEqualTo(-value(i));
      }
      remote.dispose();
    }
  }

  @Test
  void resultsAndTheEndComeWhereTheyAreAskedFor() {
    Scheduler mine = Schedulers.newSingle("mine");
    try (LciTestJob job = start(1, "")) {
      job.rank(0).inbox(PORT).handle(m -> {});
      List<String> threads = new CopyOnWriteArrayList<>();
      job.rank(0)
          .post(
              Flux.range(0, 1_000).map(i -> Op.am(0, PORT, Payload.ofLong(i))),
              OPTIONS.mutate().signalOn(mine).build())
          .doOnNext(result -> threads.add(Thread.currentThread().getName()))
          .doOnComplete(() -> threads.add(Thread.currentThread().getName()))
          .blockLast(LIMIT);
      assertThat(threads).hasSize(1_001).allMatch(name -> name.startsWith("mine"));
    } finally {
      mine.dispose();
    }
  }

  /** Elements end in any order, and one that has ended is not kept while others are under way. */
  @Test
  void whatHasEndedIsForgotten() {
    try (LciTestJob job = start(1, "")) {
      LciRuntime lci = job.rank(0);
      List<WeakReference<Object>> items = new CopyOnWriteArrayList<>();
      Flux<Object> three =
          Flux.range(0, 3)
              .map(
                  i -> {
                    Object item = new Object();
                    items.add(new WeakReference<>(item));
                    return item;
                  });
      AtomicInteger tag = new AtomicInteger();
      AtomicInteger ended = new AtomicInteger();
      Disposable posting =
          lci.post(
                  three.concatWith(Flux.never()),
                  item -> Op.receive(0, tag.getAndIncrement(), 8),
                  OPTIONS.mutate().window(4).build())
              .subscribe(result -> ended.incrementAndGet());
      for (int sent : new int[] {1, 0}) {
        lci.post(Op.send(0, sent, Payload.ofLong(sent))).block(LIMIT);
      }
      await().atMost(LIMIT).until(() -> ended.get() == 2);
      await().atMost(LIMIT).until(() -> isCollected(items.get(1)) && isCollected(items.get(0)));
      assertThat(items.get(2).get()).as("its receive waits").isNotNull();
      posting.dispose();
      await().atMost(LIMIT).until(() -> isCollected(items.get(2)));
    }
  }

  private static boolean isCollected(WeakReference<?> reference) {
    System.gc();
    return reference.get() == null;
  }

  private static Op operation(int i, RemoteMemory remote) {
    Op op =
        switch (i % 4) {
          case 0 -> Op.am(1, PORT, Payload.ofLong(i));
          case 1 -> Op.send(1, i, Payload.ofLong(value(i)));
          case 2 -> Op.put(remote, 8L * i, Payload.ofLong(-value(i)));
          default -> Op.get(remote, 8L * i, Long.BYTES);
        };
    return op.userContext(i);
  }

  private static long value(int i) {
    return 31L * i + 7;
  }

  private static void markOnce(BitSet seen, int number) {
    if (seen.get(number)) {
      throw new AssertionError(number + " came twice");
    }
    seen.set(number);
  }

  private static LciTestJob start(int ranks, String chaos) {
    LciOptions.Builder options = LciOptions.builder();
    return LciTestJob.start(
        ranks, chaos.isEmpty() ? options.build() : options.attribute("chaos", chaos).build());
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 256, 1000})
  void everyWindowWorks(int window) {
    int count = 1_000;
    try (LciTestJob job = LciTestJob.start(2)) {
      Mono<Long> received =
          job.rank(1)
              .inbox(PORT, InboxOptions.builder().messages(8).build())
              .receive(m -> m.getLong(0))
              .take(count)
              .distinct()
              .count();
      Mono<Long> results =
          job.rank(0)
              .post(
                  Flux.range(0, count).hide().publishOn(Schedulers.parallel()),
                  n -> Op.am(1, PORT, Payload.ofLong(n)),
                  OPTIONS.mutate().window(window).build())
              .filter(PostResult::isSuccess)
              .count();
      var both = Mono.zip(received, results).block(LIMIT);
      assertThat(both.getT1()).isEqualTo(count);
      assertThat(both.getT2()).isEqualTo(count);
    }
  }

  /** What waits for a rank without demand occupies the window; others go on while there is room. */
  @Test
  void aSlowRankDelaysOthersOnlyWhenTheWindowIsFull() {
    int count = 10_000;
    try (LciTestJob job = LciTestJob.start(3)) {
      Inbox slow = job.rank(2).inbox(PORT, InboxOptions.builder().messages(8).build());
      Mono<Long> fast = job.rank(1).inbox(PORT).receive(m -> 1).take(count).count();
      AtomicInteger taken = new AtomicInteger();
      Flux<Integer> ranks =
          Flux.range(0, count + 200).map(i -> i % 50 == 0 && i / 50 < 200 ? 2 : 1);
      Flux<Integer> items = ranks.doOnNext(r -> taken.incrementAndGet());
      Disposable sending =
          job.rank(0).post(items, r -> Op.am(r, PORT, Payload.ofLong(r)), OPTIONS).subscribe();
      assertThat(fast.block(LIMIT)).isEqualTo(count);
      assertThat(sending.isDisposed()).isFalse();
      assertThat(slow.receive(m -> 1).take(200).count().block(LIMIT)).isEqualTo(200);
      await().atMost(LIMIT).until(sending::isDisposed);
      assertThat(taken).hasValue(count + 200);
    }
  }

  @Test
  void resultsComeAsFarAsRequestedAndUpstreamStopsMeanwhile() {
    try (LciTestJob job = LciTestJob.start(1)) {
      Disposable handling = job.rank(0).inbox(PORT).handle(m -> {});
      AtomicInteger taken = new AtomicInteger();
      Flux<Op> ops =
          Flux.range(0, 100)
              .doOnNext(n -> taken.incrementAndGet())
              .map(n -> Op.am(0, PORT, Payload.ofLong(n)));
      StepVerifier.create(job.rank(0).post(ops, OPTIONS.mutate().window(16).build()), 0)
          .expectSubscription()
          .then(() -> assertThat(taken).hasValue(0))
          .thenRequest(10)
          .expectNextCount(10)
          .then(() -> assertThat(taken.get()).isLessThanOrEqualTo(26))
          .thenRequest(Long.MAX_VALUE)
          .expectNextCount(90)
          .expectComplete()
          .verify(LIMIT);
      handling.dispose();
    }
  }

  @Test
  void failuresAreData() {
    try (LciTestJob job = LciTestJob.start(1)) {
      Disposable handling = job.rank(0).inbox(PORT).handle(m -> {});
      List<PostResult<Integer>> results =
          job.rank(0)
              .post(Flux.range(0, 6), BulkPostTest::sometimesWrong, OPTIONS)
              .collectSortedList((a, b) -> a.item() - b.item())
              .block(LIMIT);
      handling.dispose();
      assertThat(results)
          .extracting(PostResult::isSuccess)
          .containsExactly(true, false, false, false, false, true);
      assertThat(results.get(1).error()).hasMessageContaining("no operation for 1");
      assertThat(results.get(2).error()).hasMessageContaining("the operation is null");
      assertThat(results.get(3).error()).hasMessageContaining("ranks are 0 to 0: 99");
      assertThat(results.get(4).error()).hasMessageContaining("wrote 0");
      assertThat(results).allMatch(r -> (r.completion() == null) != r.isSuccess());
    }
  }

  private static Op sometimesWrong(int n) {
    Op right = Op.am(0, PORT, Payload.ofLong(n));
    return switch (n) {
      case 1 -> throw new IllegalStateException("no operation for 1");
      case 2 -> null;
      case 3 -> Op.am(99, PORT, Payload.empty());
      case 4 -> Op.am(0, PORT, new Lying());
      default -> right;
    };
  }

  /** Says that it has bytes, and writes none. */
  private static final class Lying implements Payload {
    @Override
    public int size() {
      return 8;
    }

    @Override
    public void writeTo(io.lci.am.PayloadWriter out) {}
  }

  @Test
  void stopOnErrorEndsAndCancelsUpstream() {
    try (LciTestJob job = LciTestJob.start(1)) {
      Disposable handling = job.rank(0).inbox(PORT).handle(m -> {});
      AtomicInteger cancelled = new AtomicInteger();
      List<Integer> discarded = new CopyOnWriteArrayList<>();
      Flux<Integer> items =
          Flux.just(0, 0, 99, 0).concatWith(Flux.never()).doOnCancel(cancelled::incrementAndGet);
      StepVerifier.create(
              job.rank(0)
                  .post(
                      items,
                      r -> Op.am(r, PORT, Payload.ofLong(r)),
                      OPTIONS.mutate().stopOnError(true).build())
                  .doOnDiscard(Integer.class, discarded::add))
          .thenConsumeWhile(PostResult::isSuccess)
          .expectErrorSatisfies(
              e -> assertThat(e).isInstanceOf(LciException.class).hasMessageContaining("99"))
          .verify(LIMIT);
      await().atMost(LIMIT).until(() -> cancelled.get() == 1);
      assertThat(discarded).contains(99);
      handling.dispose();
    }
  }

  @Test
  void cancelEndsUnmatchedReceivesAndDiscardsWhatWaits() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Counter counter = job.rank(0).completions().counter();
      Flux<Op> ops =
          Flux.range(0, 100)
              .map(i -> i % 2 == 0 ? Op.receive(1, i, 8) : Op.am(1, PORT, Payload.ofLong(i)))
              .concatWith(Flux.never());
      List<Op> discarded = new CopyOnWriteArrayList<>();
      Disposable posting =
          job.rank(0).post(ops, OPTIONS).doOnDiscard(Op.class, discarded::add).subscribe();
      // one message goes without credit, the others wait
      await().atMost(LIMIT).until(() -> job.rank(0).snapshot().counter("loop_parked") == 49);
      posting.dispose();
      await().atMost(LIMIT).until(() -> job.rank(0).snapshot().counter("loop_in_slots") == 0);
      assertThat(job.rank(0).snapshot().counter("loop_parked")).isZero();
      assertThat(discarded).hasSize(49).allMatch(op -> op.kind() == Op.Kind.AM);
      counter.dispose();
    }
  }

  @Test
  void anOperationWithATargetIsReportedWhenItIsAccepted() {
    int count = 100;
    try (LciTestJob job = LciTestJob.start(1)) {
      Disposable handling = job.rank(0).inbox(PORT).handle(m -> {});
      Counter counter = job.rank(0).completions().counter();
      Mono<Long> counted = counter.reaches(count);
      Flux<Op> ops =
          Flux.range(0, count).map(n -> Op.am(0, PORT, Payload.ofLong(n)).completeTo(counter));
      assertThat(Mono.zip(job.rank(0).post(ops, OPTIONS).count(), counted).block(LIMIT).getT1())
          .isEqualTo(count);
      counter.dispose();
      handling.dispose();
    }
  }

  /** The operator lives on when a peer is gone: what was for that one fails as data. */
  @Test
  void aPeerThatIsGoneFailsItsOperationsAlone() {
    try (LciTestJob job = LciTestJob.start(3)) {
      Disposable handling = job.rank(1).inbox(PORT).handle(m -> {});
      job.rank(2).close();
      job.rank(0).peerGone(2).block(LIMIT);
      List<PostResult<Integer>> results =
          job.rank(0)
              .post(Flux.range(0, 100), n -> Op.am(1 + n % 2, PORT, Payload.ofLong(n)), OPTIONS)
              .collectList()
              .block(LIMIT);
      assertThat(results).hasSize(100);
      for (PostResult<Integer> result : results) {
        if (result.rank() == 2) {
          assertThat(result.error())
              .isInstanceOfAny(PeerLeftException.class, PeerFailedException.class);
        } else {
          assertThat(result.error()).isNull();
        }
      }
      handling.dispose();
    }
  }

  @Test
  void closeEndsItAndCancelsUpstream() {
    try (LciTestJob job = LciTestJob.start(2)) {
      AtomicInteger cancelled = new AtomicInteger();
      Flux<Op> ops =
          Flux.<Op>never()
              .startWith(Op.am(1, PORT, Payload.ofLong(1)))
              .doOnCancel(cancelled::incrementAndGet);
      StepVerifier.create(job.rank(0).post(ops, OPTIONS))
          .expectNextCount(1)
          .then(() -> job.rank(0).abort())
          .expectError(LciClosedException.class)
          .verify(LIMIT);
      await().atMost(LIMIT).until(() -> cancelled.get() == 1);
      job.rank(0).onClose().block(LIMIT);
      StepVerifier.create(job.rank(0).post(ops, OPTIONS), 0)
          .expectError(LciClosedException.class)
          .verify(LIMIT);
    }
  }
}
