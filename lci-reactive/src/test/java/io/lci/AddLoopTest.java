/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.lci.am.Inbox;
import io.lci.am.InboxOptions;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.am.Sender;
import io.lci.am.SenderOptions;
import io.lci.error.LciClosedException;
import io.lci.error.LciException;
import io.lci.error.PeerFailedException;
import io.lci.error.PeerLeftException;
import io.lci.error.ResourceExhaustedException;
import io.lci.rma.MemoryRegion;
import io.lci.rma.RemoteMemory;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Loops that are added to runtimes that are running. */
@ExtendWith(LciLeakCheck.class)
class AddLoopTest {
  private static final Port PORT = Port.of(57, "added");
  private static final Port OTHER = Port.of(58, "other");
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final int COUNT = 2_000;

  /** How ranks reach each other; the name of a test says the seed. */
  static Stream<String> everywhere() {
    return Stream.of("peer_memory=all", "peer_memory=rings", chaos(1), chaos(2), chaos(3));
  }

  private static String chaos(int seed) {
    return "chaos=seed=" + seed + ",delay=0.2,ticks=12,refuse=0.1,short=0.2";
  }

  private static LciTestJob start(int size, String attribute) {
    String[] parts = attribute.split("=", 2);
    return LciTestJob.start(size, LciOptions.builder().attribute(parts[0], parts[1]).build());
  }

  private static Inbox inbox(LciRuntime lci, LciLoop home) {
    return lci.inbox(PORT, InboxOptions.builder().loop(home.index()).build());
  }

  private static Sender sender(LciRuntime lci, LciLoop home) {
    return lci.sender(PORT, SenderOptions.builder().loop(home.index()).build());
  }

  /** Sends numbers, whose sum arrives at {@code received}. */
  private static Mono<Void> send(Sender sender, int rank) {
    return sender.sendAll(rank, Flux.range(0, COUNT), (value, out) -> out.putLong(value));
  }

  private static Mono<Long> sum(Inbox inbox) {
    Mono<Long> sum = inbox.receive(m -> m.getLong(0)).take(COUNT).reduce(0L, Long::sum).cache();
    sum.subscribe();
    return sum;
  }

  /** Waits until something waits for the device that rank 1 does not have. */
  private static void awaitRefusal(LciRuntime lci) {
    await().atMost(LIMIT).until(() -> !lci.snapshot().waiting().isEmpty());
    LciSnapshot.WaitingState waiting = lci.snapshot().waiting().get(0);
    assertThat(waiting.device()).isEqualTo(1);
    assertThat(waiting.rank()).isEqualTo(1);
    assertThat(waiting.reason()).isEqualTo(PostOutcome.RETRY_NOCREDIT);
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("everywhere")
  void anAddedLoopIsHomeOfInboxesAndSenders(String attribute) {
    try (LciTestJob job = start(2, attribute)) {
      LciLoop from = job.rank(0).addLoop();
      LciLoop to = job.rank(1).addLoop();
      assertThat(job.rank(0).loops()).hasSize(2).last().isSameAs(from);
      assertThat(to.index()).isEqualTo(1);
      assertThat(to.devices()).containsExactly(1);
      AtomicReference<String> thread = new AtomicReference<>();
      Mono<Long> received =
          inbox(job.rank(1), to)
              .receive(
                  m -> {
                    assertThat(to.inLoop()).isTrue();
                    thread.set(Thread.currentThread().getName());
                    return m.getLong(0);
                  })
              .take(COUNT)
              .reduce(0L, Long::sum)
              .cache();
      received.subscribe();
      send(sender(job.rank(0), from), 1).block(LIMIT);
      assertThat(received.block(LIMIT)).isEqualTo(COUNT * (COUNT - 1L) / 2);
      assertThat(thread.get()).isEqualTo("lci-loop-1");
      LciSnapshot counted = job.rank(0).snapshot();
      assertThat(counted.devices()).isEqualTo(2);
      assertThat(counted.counter("operations_am_done", 1)).isEqualTo(COUNT);
      assertThat(counted.counter("loop_posts", 1)).isGreaterThanOrEqualTo(COUNT);
      // A single operation names the device of the loop.
      Mono<Integer> answer = job.rank(1).tagged().receive(0, 7).map(Message::size).cache();
      answer.subscribe();
      job.rank(0)
          .post(Op.send(1, 7, Payload.of(new byte[20_000])).advanced(a -> a.device(1)))
          .block(LIMIT);
      assertThat(answer.block(LIMIT)).isEqualTo(20_000);
    }
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("everywhere")
  void aSenderWaitsForTheLoopOfItsPeer(String attribute) {
    try (LciTestJob job = start(2, attribute)) {
      LciRuntime from = job.rank(0);
      LciRuntime to = job.rank(1);
      LciLoop added = from.addLoop();
      Mono<Long> received = sum(inbox(to, to.loops().get(0)));
      Mono<Void> sent = send(sender(from, added), 1).cache();
      sent.subscribe();
      awaitRefusal(from);
      // The other loop is not held up.
      Mono<Long> others = to.inbox(OTHER).receive(m -> m.getLong(0)).take(COUNT).count().cache();
      others.subscribe();
      send(from.sender(OTHER), 1).block(LIMIT);
      assertThat(others.block(LIMIT)).isEqualTo(COUNT);
      assertThat(from.snapshot().counter("operations_am_done", 1)).isZero();
      to.addLoop();
      sent.block(LIMIT);
      assertThat(received.block(LIMIT)).isEqualTo(COUNT * (COUNT - 1L) / 2);
    }
  }

  /** All ranks have three loops more in the end, which they add at other times. */
  @ParameterizedTest(name = "{0}")
  @MethodSource("everywhere")
  void nothingIsLostWhileLoopsAreAdded(String attribute) {
    int ranks = 3;
    int more = 3;
    try (LciTestJob job = start(ranks, attribute)) {
      List<Mono<Integer>> received = new ArrayList<>();
      for (LciRuntime lci : job.ranks()) {
        BitSet seen = new BitSet();
        received.add(
            lci.inbox(PORT)
                .receive(
                    m -> {
                      int id = m.rank() * 1_000_000 + m.getInt(0);
                      assertThat(seen.get(id)).as("seen before: %d", id).isFalse();
                      seen.set(id);
                      return 1;
                    })
                .take((long) ranks * (1 + more) * COUNT)
                .reduce(0, Integer::sum)
                .cache());
        received.get(lci.rank()).subscribe();
      }
      Flux<Void> sent =
          Flux.fromIterable(job.ranks())
              .flatMap(
                  lci ->
                      Flux.concat(Flux.just(0), added(lci, more))
                          .flatMap(loop -> everywhere(lci, loop, ranks), 1 + more),
                  ranks);
      sent.blockLast(LIMIT);
      for (Mono<Integer> each : received) {
        assertThat(each.block(LIMIT)).isEqualTo(ranks * (1 + more) * COUNT);
      }
    }
  }

  private static Flux<Integer> added(LciRuntime lci, int count) {
    return Flux.range(1, count)
        .delayElements(Duration.ofMillis(10L + 7L * lci.rank()))
        .map(index -> lci.addLoop().index());
  }

  private static Flux<Void> everywhere(LciRuntime lci, int loop, int ranks) {
    Sender sender = lci.sender(PORT, SenderOptions.builder().loop(loop).build());
    return Flux.range(0, ranks)
        .flatMap(
            rank ->
                sender.sendAll(
                    rank, Flux.range(loop * COUNT, COUNT), (value, out) -> out.putInt(value)));
  }

  /** Puts and gets through messages have no flow that anybody could tell of. */
  @Test
  void putsByMessagesWaitForTheLoopOfThePeer() {
    try (LciTestJob job = start(2, "rma=messages")) {
      LciRuntime from = job.rank(0);
      LciRuntime to = job.rank(1);
      MemoryRegion region = to.memory().allocate(64);
      RemoteMemory remote = from.memory().remote(1, region.handle());
      from.addLoop();
      Mono<Long> put =
          from.post(Op.put(remote, 8, Payload.ofLong(42)).advanced(a -> a.device(1)))
              .map(c -> c.size())
              .cache();
      put.subscribe();
      awaitRefusal(from);
      to.addLoop();
      assertThat(put.block(LIMIT)).isEqualTo(8L);
      assertThat(region.view(8, Long.BYTES).getLong(0)).isEqualTo(42);
      remote.dispose();
      region.dispose();
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void whatWaitsForALoopEndsWithTheRuntime(boolean abort) {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime from = job.rank(0);
      Mono<Void> sent = send(sender(from, from.addLoop()), 1).cache();
      sent.subscribe(null, error -> {});
      awaitRefusal(from);
      if (abort) {
        from.abort();
      } else {
        from.disposeGracefully(Duration.ofMillis(20)).block(LIMIT);
      }
      assertThatThrownBy(() -> sent.block(LIMIT)).isInstanceOf(LciClosedException.class);
      await().atMost(LIMIT).until(from::isDisposed);
      assertThat(from.loops()).hasSize(2);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void whatWaitsForALoopFailsWithItsRank(boolean abort) {
    Class<? extends LciException> gone =
        abort ? PeerFailedException.class : PeerLeftException.class;
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime from = job.rank(0);
      LciLoop added = from.addLoop();
      Mono<Void> sent = send(sender(from, added), 1).cache();
      sent.subscribe(null, error -> {});
      awaitRefusal(from);
      if (abort) {
        job.rank(1).abort();
      } else {
        job.rank(1).close();
      }
      assertThatThrownBy(() -> sent.block(LIMIT)).isInstanceOf(gone);
      assertThatThrownBy(() -> sender(from, added).send(1, Payload.ofInt(1)).block(LIMIT))
          .isInstanceOf(gone);
      // One that comes later knows it, too.
      LciLoop late = from.addLoop();
      assertThatThrownBy(() -> sender(from, late).send(1, Payload.ofInt(1)).block(LIMIT))
          .isInstanceOf(gone);
      assertThat(from.peerEvents().blockFirst(LIMIT).rank()).isEqualTo(1);
    }
  }

  @Test
  void aLoopIsAddedOnALoop() {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      LciLoop first = lci.loops().get(0);
      LciLoop added = Mono.fromCallable(lci::addLoop).subscribeOn(first.scheduler()).block(LIMIT);
      Mono<Long> received = sum(inbox(lci, added));
      send(sender(lci, first), 0).block(LIMIT);
      assertThat(received.block(LIMIT)).isEqualTo(COUNT * (COUNT - 1L) / 2);
    }
  }

  /** Its device waits for a thread that drives the loop, as those from the start do. */
  @Test
  void anAddedInvokerLoopIsDrivenByItsInvoker() {
    LciOptions options = LciOptions.builder().invoker(true).build();
    try (LciTestJob job = LciTestJob.start(1, options)) {
      LciRuntime lci = job.rank(0);
      LciLoop added = lci.addLoop();
      Mono<Long> received =
          inbox(lci, added).receive(m -> m.getLong(0)).take(COUNT).reduce(0L, Long::sum);
      Mono<Void> sent = send(sender(lci, added), 0);
      assertThat(added.await(Mono.zip(received, sent.thenReturn(1)), LIMIT).getT1())
          .isEqualTo(COUNT * (COUNT - 1L) / 2);
      assertThat(added.inLoop()).isTrue();
      lci.close(); // also the loop that nobody ever drove
    }
  }

  @ParameterizedTest
  @MethodSource("helping")
  void addedLoopsHelpAndAreHelped(ProgressStrategy progress) {
    LciOptions options = LciOptions.builder().loops(2).progress(progress).build();
    for (int held = 0; held < 3; held++) {
      try (LciTestJob job = LciTestJob.start(2, options)) {
        job.rank(0).addLoop();
        LciRuntime to = job.rank(1);
        to.addLoop();
        LciLoop holding = to.loops().get(held);
        Mono<Long> received = sum(inbox(to, to.loops().get((held + 1) % 3)));
        Semaphore inside = new Semaphore(0);
        Semaphore released = new Semaphore(0);
        holding
            .scheduler()
            .schedule(
                () -> {
                  inside.release();
                  released.acquireUninterruptibly();
                });
        inside.acquireUninterruptibly();
        try {
          send(sender(job.rank(0), job.rank(0).loops().get(held)), 1).block(LIMIT);
          assertThat(received.block(LIMIT)).isEqualTo(COUNT * (COUNT - 1L) / 2);
          assertThat(to.snapshot().counter("loop_helped", held)).isPositive();
        } finally {
          released.release();
        }
      }
    }
  }

  static Stream<ProgressStrategy> helping() {
    return Stream.of(
        ProgressStrategy.help(), ProgressStrategy.random(1), ProgressStrategy.global(1));
  }

  @Test
  void aRuntimeHasUpTo128() {
    LciOptions options = LciOptions.builder().devices(LciOptions.MAX_LOOPS - 1).build();
    try (LciTestJob job = LciTestJob.start(1, options)) {
      LciRuntime lci = job.rank(0);
      assertThat(lci.addLoop().devices()).containsExactly(LciOptions.MAX_LOOPS - 1);
      assertThatThrownBy(lci::addLoop)
          .isInstanceOf(ResourceExhaustedException.class)
          .hasMessageContaining("add loop")
          .hasMessageContaining("128");
      assertThat(lci.loops()).hasSize(2);
      assertThatThrownBy(() -> lci.post(Op.receive(0, 1, 8).advanced(a -> a.device(128))))
          .isInstanceOf(IllegalArgumentException.class);
    }
  }

  @Test
  void aRuntimeThatClosesTakesNoLoop() {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      lci.close();
      assertThatThrownBy(lci::addLoop)
          .isInstanceOf(LciClosedException.class)
          .hasMessageContaining("add loop");
      assertThat(lci.loops()).hasSize(1);
    }
  }

  /** Whichever comes first: the loop ends with the runtime, or is not there. */
  @Test
  void aCloseThatComesMeanwhileEndsTheLoopToo() {
    for (int round = 0; round < 30; round++) {
      try (LciTestJob job = LciTestJob.start(1)) {
        LciRuntime lci = job.rank(0);
        Mono<Void> closing =
            Mono.fromRunnable(lci::close)
                .subscribeOn(reactor.core.scheduler.Schedulers.boundedElastic())
                .then()
                .cache();
        closing.subscribe();
        try {
          for (int i = 0; i < 10; i++) {
            lci.addLoop();
          }
        } catch (LciClosedException e) {
          assertThat(e).hasMessageContaining("add loop");
        }
        closing.block(LIMIT);
        assertThat(lci.isDisposed()).isTrue();
      }
    }
  }
}
