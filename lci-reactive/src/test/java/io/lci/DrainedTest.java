/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.am.Inbox;
import io.lci.am.InboxOptions;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.error.LciClosedException;
import io.lci.rma.MemoryRegion;
import io.lci.rma.RemoteMemory;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.test.StepVerifier;

/** When everything that a rank had posted has ended and left it. */
@ExtendWith(LciLeakCheck.class)
class DrainedTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final Port PORT = Port.of(61, "drained");
  private static final Port OTHER = Port.of(62, "drained later");

  private final List<String> ended = new CopyOnWriteArrayList<>();

  private Disposable begin(String name, Mono<?> call) {
    return call.subscribe(
        value -> {}, error -> ended.add(name + " " + error), () -> ended.add(name));
  }

  private void awaitEnd(String... names) {
    await().atMost(LIMIT).untilAsserted(() -> assertThat(ended).containsExactlyInAnyOrder(names));
  }

  /** The loops of a rank take turns meanwhile: what could end has done so. */
  private static void letPass(LciRuntime lci) {
    for (LciLoop loop : lci.loops()) {
      for (int i = 0; i < 20; i++) {
        Mono.fromRunnable(() -> {}).subscribeOn(loop.scheduler()).block(LIMIT);
      }
    }
  }

  private static LciOptions options(int loops, String peerMemory) {
    return LciOptions.builder()
        .loops(loops)
        .devices(loops)
        .attribute("peer_memory", peerMemory)
        .build();
  }

  @ParameterizedTest
  @CsvSource({"1,1", "2,1", "4,2"})
  void aRankThatPostedNothingIsDrained(int ranks, int loops) {
    try (LciTestJob job = LciTestJob.start(ranks, options(loops, "all"))) {
      for (LciRuntime lci : job.ranks()) {
        lci.drained().block(LIMIT);
        lci.drained().block(LIMIT);
      }
    }
  }

  @Test
  void itCompletesOnTheFirstLoopWithoutDemand() {
    try (LciTestJob job = LciTestJob.start(1, options(2, "all"))) {
      LciRuntime lci = job.rank(0);
      StepVerifier.create(
              lci.drained().doOnTerminate(() -> ended.add("" + lci.loops().get(0).inLoop())), 0)
          .expectComplete()
          .verify(LIMIT);
      assertThat(ended).containsExactly("true");
    }
  }

  /** The receiver has room for few: the others wait at this rank until they are taken. */
  // Proves: U9
  @ParameterizedTest
  @CsvSource({"1,all", "2,all", "1,rings", "2,rings"})
  void refusedMessagesAreWaitedFor(int loops, String peerMemory) {
    int count = 100;
    try (LciTestJob job = LciTestJob.start(2, options(loops, peerMemory))) {
      LciRuntime lci = job.rank(0);
      Inbox inbox =
          job.rank(1).inbox(PORT, InboxOptions.builder().messages(4).loop(loops - 1).build());
      Flux.range(0, count)
          .flatMap(
              n ->
                  lci.post(Op.am(1, PORT, Payload.ofLong(n)).advanced(a -> a.device(n % loops)))
                      .then(),
              count)
          .then()
          .subscribe(null, null, () -> ended.add("sent"));
      begin("drained", lci.drained());
      await().atMost(LIMIT).until(() -> lci.snapshot().counter("loop_parked") > 0);
      letPass(lci);
      assertThat(ended).isEmpty();
      assertThat(inbox.receive(m -> m.getLong(0)).take(count).distinct().count().block(LIMIT))
          .isEqualTo(count);
      awaitEnd("sent", "drained");
      assertThat(ended.get(0)).isEqualTo("sent");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"all", "rings"})
  void aMessageToAPortThatIsNotOpenIsWaitedFor(String peerMemory) {
    try (LciTestJob job = LciTestJob.start(2, options(1, peerMemory))) {
      LciRuntime lci = job.rank(0);
      lci.sender(PORT).send(1, Payload.ofLong(1)).block(LIMIT);
      begin("first", lci.drained());
      lci.sender(OTHER).send(1, Payload.ofLong(2)).block(LIMIT);
      begin("second", lci.drained());
      letPass(lci);
      assertThat(ended).isEmpty();
      assertThat(job.rank(1).inbox(PORT).receive(m -> m.getLong(0)).blockFirst(LIMIT)).isEqualTo(1);
      awaitEnd("first");
      letPass(lci);
      assertThat(ended).containsExactly("first");
      assertThat(job.rank(1).inbox(OTHER).receive(m -> m.getLong(0)).blockFirst(LIMIT))
          .isEqualTo(2);
      awaitEnd("first", "second");
    }
  }

  /** A rank that sends without end is drained again and again. */
  // Proves: U9
  @ParameterizedTest
  @CsvSource({"8,1", "300,2", "20000,2"})
  void constantTrafficDoesNotHoldItUp(int bytes, int loops) {
    try (LciTestJob job = LciTestJob.start(2, options(loops, "all"))) {
      LciRuntime lci = job.rank(0);
      AtomicInteger received = new AtomicInteger();
      Disposable taking =
          job.rank(1)
              .inbox(PORT, InboxOptions.builder().messages(16).build())
              .receive(m -> m.size())
              .subscribe(size -> received.incrementAndGet());
      byte[] payload = new byte[bytes];
      Disposable sending =
          Flux.range(0, 64)
              .flatMap(
                  n ->
                      lci.post(
                              Op.am(1, PORT, Payload.of(payload))
                                  .advanced(a -> a.device(n % loops)))
                          .repeat()
                          .then(),
                  64)
              .subscribe(null, error -> {});
      await().atMost(LIMIT).until(() -> received.get() > 100);
      for (int i = 0; i < 30; i++) {
        lci.drained().block(LIMIT);
      }
      sending.dispose();
      lci.drained().block(LIMIT);
      taking.dispose();
    }
  }

  @Test
  void receivesAndBarriersAreNotWaitedFor() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      Disposable receive = lci.tagged().receive(1, 5).subscribe();
      begin("barrier", lci.barrier());
      lci.drained().block(LIMIT);
      assertThat(ended).isEmpty();
      receive.dispose();
      begin("other barrier", job.rank(1).barrier());
      awaitEnd("barrier", "other barrier");
    }
  }

  /** They are known to the engine of their receiver, however many there are. */
  @ParameterizedTest
  @ValueSource(strings = {"all", "rings"})
  void shortSendsAreNotWaitedForUntilTheyAreMatched(String peerMemory) {
    int count = 200;
    try (LciTestJob job = LciTestJob.start(2, options(1, peerMemory))) {
      LciRuntime lci = job.rank(0);
      for (int tag = 0; tag < count; tag++) {
        begin("sent", lci.tagged().send(1, tag, Payload.of(new byte[500])));
      }
      lci.drained().block(LIMIT);
      assertThat(ended).hasSize(count).containsOnly("sent");
      for (int tag = 0; tag < count; tag++) {
        assertThat(job.rank(1).tagged().receive(0, tag).block(LIMIT).size()).isEqualTo(500);
      }
    }
  }

  /** A long send waits at its sender until a receive matches it. */
  @ParameterizedTest
  @ValueSource(strings = {"all", "rings"})
  void aLongSendIsWaitedForUntilItIsMatched(String peerMemory) {
    try (LciTestJob job = LciTestJob.start(2, options(1, peerMemory))) {
      LciRuntime lci = job.rank(0);
      begin("sent", lci.tagged().send(1, 3, Payload.of(new byte[100_000])));
      begin("drained", lci.drained());
      letPass(lci);
      assertThat(ended).isEmpty();
      assertThat(job.rank(1).tagged().receive(0, 3).block(LIMIT).size()).isEqualTo(100_000);
      awaitEnd("sent", "drained");
      assertThat(ended).containsExactly("sent", "drained");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"all", "rings"})
  void operationsOnRemoteMemoryHaveEnded(String peerMemory) {
    int count = 50;
    try (LciTestJob job = LciTestJob.start(2, options(1, peerMemory))) {
      LciRuntime lci = job.rank(0);
      MemoryRegion region = job.rank(1).memory().allocate(1 << 20);
      RemoteMemory remote = lci.memory().remote(1, region.handle());
      List<Mono<?>> all = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        all.add(remote.put(8L * (i + 1), Payload.of(new byte[30_000])));
        all.add(remote.get(0, 40_000));
        all.add(remote.addAndGet(0, 1));
      }
      begin("operations", Mono.when(all));
      begin("drained", lci.drained());
      awaitEnd("operations", "drained");
      assertThat(ended.get(0)).isEqualTo("operations");
      assertThat(remote.addAndGet(0, 0).block(LIMIT)).isEqualTo(count);
      remote.dispose();
      region.dispose();
    }
  }

  /** Elements that another thread had handed to a bulk operator before the call count. */
  @Test
  void elementsThatABulkOperatorHasTakenAreWaitedFor() {
    int count = 100;
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      Inbox inbox = job.rank(1).inbox(PORT, InboxOptions.builder().messages(4).build());
      Sinks.Many<Integer> source = Sinks.many().unicast().onBackpressureBuffer();
      begin("bulk", lci.sender(PORT).sendAll(1, source.asFlux().hide(), (n, out) -> out.putInt(n)));
      for (int i = 0; i < count; i++) {
        source.tryEmitNext(i).orThrow();
      }
      begin("drained", lci.drained());
      await().atMost(LIMIT).until(() -> lci.snapshot().counter("loop_parked") > 0);
      letPass(lci);
      assertThat(ended).isEmpty();
      assertThat(inbox.receive(m -> m.getInt(0)).take(count).count().block(LIMIT)).isEqualTo(count);
      awaitEnd("drained"); // the source has not ended
      source.tryEmitComplete();
      awaitEnd("drained", "bulk");
    }
  }

  /** What a subscriber has left runs out, and has left the rank then. */
  @Test
  void cancelledOperationsAreWaitedFor() {
    try (LciTestJob job = LciTestJob.start(2, options(1, "rings"))) {
      LciRuntime lci = job.rank(0);
      Disposable send = lci.tagged().send(1, 3, Payload.of(new byte[100_000])).subscribe();
      await().atMost(LIMIT).until(() -> lci.snapshot().counter("sends_pending") == 1);
      send.dispose();
      begin("drained", lci.drained());
      letPass(lci);
      assertThat(ended).isEmpty();
      assertThat(job.rank(1).tagged().receive(0, 3).block(LIMIT).size()).isEqualTo(100_000);
      awaitEnd("drained");
    }
  }

  @Test
  void whatADeadRankEndedHasEnded() {
    try (LciTestJob job = LciTestJob.start(3)) {
      LciRuntime lci = job.rank(0);
      for (int i = 0; i < 10; i++) {
        begin("message", lci.sender(PORT).send(1, Payload.ofLong(i)).onErrorComplete());
      }
      begin("long", lci.sender(PORT).send(1, Payload.of(new byte[50_000])).onErrorComplete());
      begin("drained", lci.drained());
      letPass(lci);
      assertThat(ended).doesNotContain("drained");
      job.rank(1).abort();
      await().atMost(LIMIT).until(() -> ended.contains("drained"));
      assertThat(ended).hasSize(12);
      assertThat(ended.get(11)).isEqualTo("drained");
    }
  }

  @Test
  void aCancelDetaches() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      lci.sender(PORT).send(1, Payload.ofLong(1)).block(LIMIT);
      begin("left", lci.drained()).dispose();
      begin("stayed", lci.drained());
      job.rank(1).inbox(PORT);
      awaitEnd("stayed");
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aCloseEndsIt(boolean abort) {
    try (LciTestJob job = LciTestJob.start(2, options(2, "all"))) {
      LciRuntime lci = job.rank(0);
      lci.post(Op.am(1, PORT, Payload.ofLong(1)).advanced(a -> a.device(1))).block(LIMIT);
      StepVerifier.create(lci.drained())
          .expectSubscription()
          .then(
              () -> {
                if (abort) {
                  lci.abort();
                } else {
                  lci.disposeGracefully(Duration.ZERO).subscribe();
                }
              })
          .expectError(LciClosedException.class)
          .verify(LIMIT);
      lci.close();
      StepVerifier.create(lci.drained()).expectError(LciClosedException.class).verify(LIMIT);
    }
  }
}
