/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.LciLoop;
import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.Op;
import io.lci.PeerEvent;
import io.lci.PeerEvent.State;
import io.lci.am.Inbox;
import io.lci.am.InboxOptions;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.am.Sender;
import io.lci.am.SenderOptions;
import io.lci.error.LciClosedException;
import io.lci.rma.MemoryRegion;
import io.lci.rma.RemoteMemory;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.test.StepVerifier;

/** When nothing is under way between any ranks, and which ranks are left out. */
@ExtendWith(LciLeakCheck.class)
class DrainedEverywhereTest {
  private static final Duration LIMIT = Duration.ofSeconds(90);
  private static final Port PORT = Port.of(63, "everywhere");
  private static final int EACH = 60;
  private static final int[] SIZES = {8, 100, 500, 7_000, 20_000};
  private static final PeerEvent DEAD = new PeerEvent(2, State.FAILED);
  private static final PeerEvent GONE = new PeerEvent(2, State.LEFT);

  private final List<String> ended = new CopyOnWriteArrayList<>();

  private static LciOptions options(int loops, String peerMemory, String chaos) {
    LciOptions.Builder options =
        LciOptions.builder().loops(loops).devices(loops).attribute("peer_memory", peerMemory);
    return (chaos.isEmpty() ? options : options.attribute("chaos", chaos)).build();
  }

  /** The calls of ranks, as they end. */
  private List<Mono<List<PeerEvent>>> begin(LciTestJob job, int... ranks) {
    List<Mono<List<PeerEvent>>> results = new ArrayList<>();
    for (int rank : ranks) {
      Mono<List<PeerEvent>> call = job.rank(rank).drainedEverywhere().cache();
      call.subscribe(
          gone -> ended.add("rank " + rank), error -> ended.add("rank " + rank + ' ' + error));
      results.add(call);
    }
    return results;
  }

  private static void assertGone(List<Mono<List<PeerEvent>>> calls, PeerEvent... expected) {
    for (Mono<List<PeerEvent>> call : calls) {
      assertThat(call.block(LIMIT)).containsExactly(expected);
    }
  }

  /** The loops take turns meanwhile: what could end has done so. */
  private static void letPass(LciTestJob job) {
    for (LciRuntime lci : job.ranks()) {
      if (!lci.isDisposed()) {
        for (int i = 0; i < 20; i++) {
          Mono.fromRunnable(() -> {}).subscribeOn(lci.loops().get(0).scheduler()).block(LIMIT);
        }
      }
    }
  }

  @ParameterizedTest
  @CsvSource({"1,1", "2,1", "3,2", "5,1"})
  void ranksThatPostedNothingEndWhenAllHaveCome(int ranks, int loops) {
    try (LciTestJob job = LciTestJob.start(ranks, options(loops, "all", ""))) {
      for (int round = 0; round < 5; round++) {
        int last = round % ranks;
        int[] others = IntStream.range(0, ranks).filter(rank -> rank != last).toArray();
        List<Mono<List<PeerEvent>>> calls = begin(job, others);
        letPass(job);
        assertThat(ended).isEmpty();
        calls.addAll(begin(job, last));
        assertGone(calls);
        await().atMost(LIMIT).until(() -> ended.size() == ranks);
        ended.clear();
      }
    }
  }

  /** Ranks may differ in how many they have added; what went over added ones is awaited, too. */
  @ParameterizedTest
  @ValueSource(strings = {"", "seed=4,delay=0.3,ticks=30,refuse=0.1,short=0.2"})
  void addedLoopsAreDrained(String chaos) {
    try (LciTestJob job = LciTestJob.start(3, options(1, "all", chaos))) {
      LciLoop from = job.rank(0).addLoop();
      LciLoop to = job.rank(1).addLoop();
      job.rank(1).addLoop(); // no other rank has so many
      job.rank(1).inbox(PORT, InboxOptions.builder().loop(to.index()).messages(2 * EACH).build());
      Sender sender = job.rank(0).sender(PORT, SenderOptions.builder().loop(from.index()).build());
      for (int i = 0; i < EACH; i++) {
        sender.send(1, Payload.ofUtf8("m".repeat(SIZES[i % SIZES.length]))).subscribe();
      }
      assertGone(begin(job, 0, 1, 2));
      assertThat(job.rank(1).snapshot().inboxes())
          .filteredOn(inbox -> inbox.port().contains(PORT.name()))
          .singleElement()
          .satisfies(inbox -> assertThat(inbox.depth()).isEqualTo(EACH));
    }
  }

  /**
   * Messages of all sizes, tagged sends, puts and atomic operations, which nobody awaits: when the
   * calls have ended nothing arrives any more, and everything is there.
   */
  // Proves: U10
  @ParameterizedTest(name = "{0} ranks, {1} loops, {2}, {3}")
  @CsvSource({
    "1,1,all,''",
    "2,1,all,''",
    "4,2,all,''",
    "3,2,rings,''",
    "3,1,all,'seed=1,delay=0.2,ticks=12,refuse=0.1,short=0.2'",
    "3,2,all,'seed=2,delay=0.3,ticks=30,refuse=0.1,short=0.2'",
    "3,2,rings,'seed=3,delay=0.2,ticks=12,refuse=0.1,short=0.2'",
  })
  void nothingIsUndelivered(int ranks, int loops, String peerMemory, String chaos) {
    try (LciTestJob job = LciTestJob.start(ranks, options(loops, peerMemory, chaos))) {
      List<MemoryRegion> regions = new ArrayList<>();
      for (LciRuntime lci : job.ranks()) {
        lci.inbox(PORT, InboxOptions.builder().loop(loops - 1).messages(EACH * ranks * 2).build());
        regions.add(lci.memory().allocate(4096));
      }
      List<RemoteMemory> remotes = new ArrayList<>();
      List<Mono<List<PeerEvent>>> calls = new ArrayList<>();
      for (LciRuntime lci : job.ranks()) {
        for (int peer = 0; peer < ranks; peer++) {
          RemoteMemory remote = lci.memory().remote(peer, regions.get(peer).handle());
          remotes.add(remote);
          post(lci, peer, remote);
        }
        calls.addAll(begin(job, lci.rank()));
      }
      assertGone(calls);
      for (LciRuntime lci : job.ranks()) {
        assertEverythingIsThere(lci, regions.get(lci.rank()));
      }
      remotes.forEach(RemoteMemory::dispose);
      regions.forEach(MemoryRegion::dispose);
    }
  }

  private static void post(LciRuntime lci, int peer, RemoteMemory remote) {
    int loops = lci.loops().size();
    for (int n = 0; n < EACH; n++) {
      Payload payload = Payload.of(new byte[size(n)]);
      int device = n % loops;
      lci.post(Op.am(peer, PORT, payload).tag(n).advanced(a -> a.device(device))).subscribe();
      if (isShort(n)) { // a long one has not ended before it is matched
        lci.tagged().send(peer, n, payload).subscribe();
      }
      remote.addAndGet(0, 1).subscribe();
    }
    remote.put(8 + 8L * lci.rank(), Payload.ofLong(lci.rank() + 1)).subscribe();
  }

  private static int size(int n) {
    return SIZES[n % SIZES.length];
  }

  private static boolean isShort(int n) {
    return size(n) < 10_000;
  }

  /** Nothing more arrives, so what is taken now was there. */
  private static void assertEverythingIsThere(LciRuntime lci, MemoryRegion region) {
    long arrived = lci.snapshot().counter("arrivals");
    long sends = IntStream.range(0, EACH).filter(DrainedEverywhereTest::isShort).count();
    assertThat(lci.snapshot().counter("unexpected_stored")).isEqualTo(sends * lci.size());
    ByteBuffer words = region.view(0, 4096).order(ByteOrder.LITTLE_ENDIAN);
    assertThat(words.getLong(0)).isEqualTo((long) lci.size() * EACH);
    for (int rank = 0; rank < lci.size(); rank++) {
      assertThat(words.getLong(8 + 8 * rank)).isEqualTo(rank + 1);
    }
    Set<Long> taken = new HashSet<>();
    lci.inbox(PORT)
        .receive(
            m -> {
              assertThat(m.size()).isEqualTo(size((int) m.tag()));
              return m.rank() * 1000L + m.tag();
            })
        .take((long) lci.size() * EACH)
        .doOnNext(taken::add)
        .blockLast(LIMIT);
    assertThat(taken).hasSize(lci.size() * EACH);
    assertThat(lci.snapshot().counter("arrivals")).isEqualTo(arrived);
    for (int rank = 0; rank < lci.size(); rank++) {
      for (int n = 0; n < EACH; n++) {
        if (isShort(n)) {
          assertThat(lci.tagged().receive(rank, n).block(LIMIT).size()).isEqualTo(size(n));
        }
      }
    }
  }

  /**
   * A message a turn, and each turn takes long: the call comes by another device, and must not end
   * before those that have credit, which their sender knows nothing more of, are read.
   */
  // Proves: U10
  @Test
  void aDeviceThatReadsSlowlyHoldsItUp() throws InterruptedException {
    int count = 10;
    try (LciTestJob job = LciTestJob.start(2, options(2, "all", "seed=1,short=1"))) {
      LciRuntime lci = job.rank(0);
      LciRuntime peer = job.rank(1);
      Inbox inbox = peer.inbox(PORT, InboxOptions.builder().loop(1).build());
      Op message = Op.am(1, PORT, Payload.ofLong(1)).advanced(a -> a.device(1));
      for (int n = 0; n < 200; n++) {
        lci.post(message).block(LIMIT);
      }
      assertThat(inbox.receive(m -> 1).take(200).count().block(LIMIT)).isEqualTo(200);
      Mono<Long> arrived =
          peer.drainedEverywhere().map(gone -> peer.snapshot().counter("arrivals")).cache();
      arrived.subscribe();
      await().atMost(LIMIT).until(() -> lci.snapshot().counter("unexpected_stored") == 1);
      Scheduler[] others = {lci.loops().get(0).scheduler(), peer.loops().get(0).scheduler()};
      long counted;
      try (SlowTurns turns = new SlowTurns(peer.loops().get(1).scheduler(), others)) {
        for (int n = 0; n < count; n++) {
          lci.post(message).block(LIMIT);
        }
        assertGone(begin(job, 0));
        counted = arrived.block(LIMIT);
      }
      assertThat(inbox.receive(m -> 1).take(count).count().block(LIMIT)).isEqualTo(count);
      assertThat(peer.snapshot().counter("arrivals")).isEqualTo(counted);
    }
  }

  /**
   * Each turn of a loop takes as long as many of the others, from a turn that has begun until it is
   * closed.
   */
  private static final class SlowTurns implements AutoCloseable {
    private final CountDownLatch begun = new CountDownLatch(1);
    private final CountDownLatch ended = new CountDownLatch(1);
    private volatile boolean over;

    SlowTurns(Scheduler loop, Scheduler... others) throws InterruptedException {
      turn(loop, others);
      begun.await();
    }

    private void turn(Scheduler loop, Scheduler... others) {
      loop.schedule(
          () -> {
            begun.countDown();
            for (int i = 0; i < 10; i++) {
              for (Scheduler other : others) {
                awaitTurn(other);
              }
            }
            if (over) {
              ended.countDown();
            } else {
              turn(loop, others);
            }
          },
          1,
          TimeUnit.NANOSECONDS); // a timer is for another turn
    }

    @Override
    public void close() throws InterruptedException {
      over = true;
      ended.await();
    }
  }

  private static void awaitTurn(Scheduler loop) {
    CountDownLatch turned = new CountDownLatch(1);
    loop.schedule(turned::countDown, 1, TimeUnit.NANOSECONDS);
    try {
      turned.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Ranks may make many calls before one has ended; each meets those of its number. */
  @Test
  void callsAreNumbered() {
    int count = 100;
    try (LciTestJob job = LciTestJob.start(3)) {
      List<Mono<?>> all = new ArrayList<>();
      for (LciRuntime lci : job.ranks()) {
        all.add(Flux.range(0, count).flatMap(n -> lci.drainedEverywhere(), count).then());
        all.add(Flux.range(0, count).flatMap(n -> lci.world().barrier(), count).then());
      }
      Mono.when(all).block(LIMIT);
    }
  }

  @Test
  void aSubscriberThatLeavesTakesPart() {
    try (LciTestJob job = LciTestJob.start(2)) {
      job.rank(0).drainedEverywhere().subscribe().dispose();
      assertGone(begin(job, 1));
    }
  }

  /** It waits for the rank that has a message without a place, and so do all others. */
  @ParameterizedTest
  @ValueSource(strings = {"all", "rings"})
  void aMessageWithoutAPlaceHoldsAllUp(String peerMemory) {
    try (LciTestJob job = LciTestJob.start(3, options(1, peerMemory, ""))) {
      job.rank(0).sender(PORT).send(1, Payload.ofLong(1)).block(LIMIT);
      List<Mono<List<PeerEvent>>> calls = begin(job, 0, 1, 2);
      letPass(job);
      assertThat(ended).isEmpty();
      job.rank(1).inbox(PORT);
      assertGone(calls);
    }
  }

  @Test
  void aRankThatLeftBeforeIsNamed() {
    try (LciTestJob job = LciTestJob.start(3)) {
      job.rank(2).close();
      assertGone(begin(job, 0, 1), GONE);
      assertGone(begin(job, 0, 1), GONE);
    }
  }

  @Test
  void aRankThatDiedBeforeIsNamed() {
    try (LciTestJob job = LciTestJob.start(3)) {
      job.rank(2).abort();
      assertGone(begin(job, 0, 1), DEAD);
    }
  }

  /** The others wait for its call. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aRankThatGoesInsteadOfCallingIsNamed(boolean dies) {
    try (LciTestJob job = LciTestJob.start(3)) {
      List<Mono<List<PeerEvent>>> calls = begin(job, 0, 1);
      letPass(job);
      assertThat(ended).isEmpty();
      if (dies) {
        job.rank(2).abort();
      } else {
        job.rank(2).close();
      }
      assertGone(calls, dies ? DEAD : GONE);
    }
  }

  /**
   * It has told how far it wrote; rank 0 is not drained yet, so nobody has everything. A close that
   * cannot send all in time is a failure: over a network, what rank 0 has not asked for is not
   * sent.
   */
  // Proves: U10
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aRankThatGoesAfterItHasToldItsPositionsIsNamed(boolean dies) {
    try (LciTestJob job = LciTestJob.start(3)) {
      job.rank(0).sender(PORT).send(1, Payload.ofLong(1)).block(LIMIT);
      begin(job, 2);
      List<Mono<List<PeerEvent>>> calls = begin(job, 0, 1);
      letPass(job);
      boolean unsent = job.rank(2).snapshot().counter("sends_pending") != 0;
      if (dies) {
        job.rank(2).abort();
      } else {
        job.rank(2).close();
      }
      PeerEvent gone = dies || unsent ? DEAD : GONE;
      assertThat(job.rank(0).peerGone(2).block(LIMIT)).isEqualTo(gone);
      letPass(job);
      assertThat(ended).allMatch(name -> name.startsWith("rank 2 "));
      job.rank(1).inbox(PORT);
      assertGone(calls, gone);
    }
  }

  @Test
  void aCloseEndsItHereAndIsNamedElsewhere() {
    try (LciTestJob job = LciTestJob.start(3)) {
      job.rank(0).sender(PORT).send(1, Payload.ofLong(1)).block(LIMIT);
      List<Mono<List<PeerEvent>>> calls = begin(job, 0, 1);
      StepVerifier.create(job.rank(2).drainedEverywhere())
          .expectSubscription()
          .then(() -> job.rank(2).dispose())
          .expectError(LciClosedException.class)
          .verify(LIMIT);
      job.rank(1).inbox(PORT);
      for (Mono<List<PeerEvent>> call : calls) {
        assertThat(call.block(LIMIT)).isSubsetOf(GONE);
      }
      job.rank(2).close();
      StepVerifier.create(job.rank(2).drainedEverywhere())
          .expectError(LciClosedException.class)
          .verify(LIMIT);
    }
  }

  /** A rank whose program holds its loop reads nothing: its messages are not delivered. */
  @Test
  void aLoopThatIsHeldHoldsItUp() throws InterruptedException {
    LciOptions local = LciOptions.builder().attribute("peer_memory", "all").build();
    CountDownLatch held = new CountDownLatch(1);
    try (LciTestJob job = LciTestJob.start(2, local)) {
      job.rank(1).inbox(PORT);
      CountDownLatch holding = new CountDownLatch(1);
      job.rank(1)
          .loops()
          .get(0)
          .scheduler()
          .schedule(
              () -> {
                holding.countDown();
                try {
                  held.await();
                } catch (InterruptedException e) {
                  Thread.currentThread().interrupt();
                }
              });
      holding.await();
      List<Mono<List<PeerEvent>>> calls = begin(job, 1, 0);
      job.rank(0).drained().block(LIMIT);
      assertThat(ended).isEmpty();
      held.countDown();
      assertGone(calls);
    } finally {
      held.countDown();
    }
  }
}
