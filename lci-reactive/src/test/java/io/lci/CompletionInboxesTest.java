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
import io.lci.am.RetainedMessage;
import io.lci.error.ResourceExhaustedException;
import io.lci.error.TruncatedException;
import io.lci.rma.MemoryRegion;
import io.lci.rma.RemoteMemory;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Inboxes as completion targets: a message for each operation that succeeded, in its place. */
@ExtendWith(LciLeakCheck.class)
class CompletionInboxesTest {
  private static final Port PORT = Port.of(37, "peers");
  private static final Port ENDS = Port.of(38, "ends");
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final int PLACES = 4;

  private static Inbox ends(LciRuntime lci, int loop) {
    return lci.inbox(ENDS, InboxOptions.builder().messages(PLACES).loop(loop).build());
  }

  private static LciOptions twoLoops() {
    return LciOptions.builder().loops(2).devices(2).build();
  }

  private static PostOutcome tryPost(LciRuntime lci, Op op) {
    Supplier<PostOutcome> attempt = () -> lci.loops().get(0).poster().tryPost(op);
    return Mono.fromSupplier(attempt).subscribeOn(lci.loops().get(0).scheduler()).block(LIMIT);
  }

  private static void awaitPosted(LciRuntime lci, long count) {
    await().atMost(LIMIT).until(() -> lci.snapshot().counter("loop_in_slots") == count);
  }

  // Proves: E20
  // On: inproc
  @ParameterizedTest(name = "peer_memory {0}, chaos {1}")
  @CsvSource({"all,''", "rings,''", "rings,seed=1", "all,seed=2"})
  void everyKindBringsAMessage(String peerMemory, String chaos) {
    LciOptions options =
        LciOptions.builder().attribute("peer_memory", peerMemory).attribute("chaos", chaos).build();
    try (LciTestJob job = LciTestJob.start(2, options)) {
      LciRuntime lci = job.rank(0);
      Disposable handling = job.rank(1).inbox(PORT).handle(m -> {});
      MemoryRegion region = job.rank(1).memory().allocate(16_384);
      region.view(0, 16).putLong(0, 55).putLong(8, 66);
      RemoteMemory remote = lci.memory().remote(1, region.handle());
      Inbox inbox = lci.inbox(ENDS);
      List<Op> ops =
          List.of(
              Op.am(1, PORT, Payload.ofLong(1)).tag(1).completeTo(inbox),
              Op.am(1, PORT, Payload.of(new byte[20_000])).tag(2).completeTo(inbox),
              Op.send(1, 3, Payload.ofLong(3)).completeTo(inbox),
              Op.receive(1, 4, 8).completeTo(inbox),
              Op.put(remote, 64, Payload.ofLong(5)).completeTo(inbox),
              Op.get(remote, 0, 8).completeTo(inbox),
              Op.getAndAdd(remote, 8, 1).completeTo(inbox),
              Op.barrier().completeTo(inbox));
      Mono<Void> there =
          Mono.when(
              job.rank(1).tagged().receive(0, 3),
              job.rank(1).tagged().send(0, 4, Payload.ofLong(44)),
              job.rank(1).barrier());
      Mono<List<String>> seen =
          inbox
              .receive(m -> m.tag() + ":" + m.size() + ":" + (m.size() == 0 ? 0 : m.getLong(0)))
              .take(ops.size())
              .collectSortedList();
      Mono<Void> posted = Mono.when(there, Flux.fromIterable(ops).flatMap(lci::post));
      assertThat(Mono.zip(seen, posted.thenReturn(1)).block(LIMIT).getT1())
          .containsExactly(
              "0:0:0", "0:0:0", "0:8:55", "1:0:0", "2:0:0", "3:0:0", "4:8:44", "66:0:0");
      assertThat(inbox.depth()).isZero();
      handling.dispose();
    }
  }

  /** More operations than places, on the inbox's loop and on another: each message comes once. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void whatWasPostedHasAPlaceAndTheRestWaits(int home) {
    int count = 64;
    try (LciTestJob job = LciTestJob.start(1, twoLoops())) {
      LciRuntime lci = job.rank(0);
      Inbox inbox = ends(lci, home);
      List<Throwable> errors = new CopyOnWriteArrayList<>();
      Disposable posts =
          Flux.range(0, count)
              .flatMap(n -> lci.post(Op.receive(0, n, 8).completeTo(inbox)), count)
              .subscribe(c -> {}, errors::add);
      Disposable sends =
          Flux.range(0, count)
              .flatMap(n -> lci.tagged().send(0, n, Payload.ofLong(n)), count)
              .subscribe(c -> {}, errors::add);
      List<Long> taken = new ArrayList<>();
      while (taken.size() < count) {
        await().atMost(LIMIT).until(() -> inbox.depth() > 0);
        assertThat(inbox.depth()).isLessThanOrEqualTo(PLACES);
        taken.addAll(
            inbox
                .receive(m -> m.getLong(0))
                .take(Math.min(3, count - taken.size()), true)
                .collectList()
                .block(LIMIT));
      }
      assertThat(taken).doesNotHaveDuplicates();
      await().atMost(LIMIT).until(() -> posts.isDisposed() && sends.isDisposed());
      assertThat(errors).isEmpty();
      assertThat(inbox.depth()).isZero();
    }
  }

  @Test
  void withoutAPlaceAPostIsRefused() {
    try (LciTestJob job = LciTestJob.start(1, twoLoops())) {
      LciRuntime lci = job.rank(0);
      Inbox inbox = ends(lci, 1);
      List<Disposable> receives = new ArrayList<>();
      for (int tag = 0; tag < PLACES; tag++) {
        receives.add(lci.post(Op.receive(0, tag, 8).completeTo(inbox)).subscribe());
      }
      awaitPosted(lci, PLACES);
      Op next = Op.receive(0, 99, 8).completeTo(inbox);
      assertThat(tryPost(lci, next)).isEqualTo(PostOutcome.RETRY_NOMEM);
      assertThatThrownBy(
              () ->
                  lci.post(
                          Op.receive(0, 98, 8).completeTo(inbox).advanced(a -> a.allowRetry(false)))
                      .block(LIMIT))
          .isInstanceOf(ResourceExhaustedException.class);
      receives.get(0).dispose(); // its place is free when the core has cancelled it
      await().atMost(LIMIT).until(() -> !tryPost(lci, next).isRetry());
      receives.forEach(Disposable::dispose);
      awaitPosted(lci, 1);
      lci.tagged().send(0, 99, Payload.ofLong(7)).block(LIMIT);
      assertThat(inbox.receive(m -> m.getLong(0)).next().block(LIMIT)).isEqualTo(7);
    }
  }

  /** A failure is its publisher's, or its consumer's; its place serves the next. */
  @Test
  void aFailureBringsNoMessageAndFreesItsPlace() {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      Inbox inbox = lci.inbox(ENDS, InboxOptions.builder().messages(1).build());
      List<Throwable> heard = new CopyOnWriteArrayList<>();
      Op receive = Op.receive(0, 1, 8).completeTo(inbox);
      for (int round = 0; round < 10; round++) {
        lci.post(receive).subscribe(c -> {}, heard::add);
        lci.tagged().send(0, 1, Payload.of(new byte[100])).block(LIMIT);
        int failures = 2 * round + 1;
        await().atMost(LIMIT).until(() -> heard.size() == failures);
        tryPostWith(lci, receive.onError(heard::add));
        lci.tagged().send(0, 1, Payload.of(new byte[100])).block(LIMIT);
        await().atMost(LIMIT).until(() -> heard.size() == failures + 1);
      }
      assertThat(heard).allMatch(e -> e instanceof TruncatedException);
      assertThat(inbox.depth()).isZero();
    }
  }

  /** Where there is neither a publisher nor a consumer, the log tells. */
  @Test
  void aFailureThatNobodyHearsIsLogged() {
    ByteArrayOutputStream log = new ByteArrayOutputStream();
    PrintStream standardError = System.err;
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      Inbox inbox = ends(lci, 0);
      System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
      tryPostWith(lci, Op.receive(0, 7, 8).completeTo(inbox));
      lci.tagged().send(0, 7, Payload.of(new byte[100])).block(LIMIT);
      await()
          .atMost(LIMIT)
          .until(
              () ->
                  log.toString(StandardCharsets.UTF_8)
                      .lines()
                      .anyMatch(
                          line -> line.contains("nobody listens: receive from rank 0 tag 7")));
    } finally {
      System.setErr(standardError);
    }
  }

  private static void tryPostWith(LciRuntime lci, Op op) {
    Mono.fromRunnable(() -> lci.loops().get(0).poster().submit(op).flush())
        .subscribeOn(lci.loops().get(0).scheduler())
        .block(LIMIT);
  }

  /** Operations that waited for a place go on without one; what they bring is their publisher's. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void aDisposedInboxHoldsNobodyUp(int home) {
    try (LciTestJob job = LciTestJob.start(1, twoLoops())) {
      LciRuntime lci = job.rank(0);
      for (int round = 0; round < 20; round++) {
        Inbox inbox = ends(lci, home);
        Mono<List<Long>> received =
            Flux.range(0, 3 * PLACES)
                .flatMap(n -> lci.post(Op.receive(0, n, 8).completeTo(inbox)), 3 * PLACES)
                .map(c -> c.message().getLong(0))
                .collectSortedList()
                .cache();
        Disposable waiting = received.subscribe();
        awaitPosted(lci, PLACES);
        inbox.dispose();
        Flux.range(0, 3 * PLACES)
            .flatMap(n -> lci.tagged().send(0, n, Payload.ofLong(n)), 3 * PLACES)
            .blockLast(LIMIT);
        assertThat(received.block(LIMIT)).hasSize(3 * PLACES).doesNotHaveDuplicates();
        await().atMost(LIMIT).until(waiting::isDisposed);
        inbox.onClose().block(LIMIT);
      }
    }
  }

  /** The other ways to consume take them as they take messages of peers. */
  @Test
  void everyWayToConsumeTakesThem() {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      MemoryRegion region = lci.memory().allocate(8);
      region.view(0, 8).putLong(0, 5);
      RemoteMemory memory = lci.memory().remote(0, region.handle());
      Inbox inbox = ends(lci, 0);
      Mono<Void> read = lci.post(Op.get(memory, 0, 8).completeTo(inbox)).then();
      read.block(LIMIT);
      Message copy = inbox.receive().next().block(LIMIT);
      assertThat(copy.getLong(0)).isEqualTo(5);
      read.block(LIMIT);
      RetainedMessage retained = inbox.receiveRetained().next().block(LIMIT);
      assertThat(retained.getLong(0)).isEqualTo(5);
      retained.release();
      read.then(read).block(LIMIT);
      await().atMost(LIMIT).until(() -> inbox.depth() == 2);
      assertThat(inbox.receiveBatches(8).next().block(LIMIT)).hasSize(2);
      List<Long> handled = new CopyOnWriteArrayList<>();
      Disposable handling = inbox.handle(m -> handled.add(m.getLong(0)));
      Flux.range(0, 10).concatMap(n -> read).blockLast(LIMIT);
      await().atMost(LIMIT).until(() -> handled.size() == 10);
      handling.dispose();
    }
  }

  @Test
  void anInboxInPartsIsRefusedAndAPartIsNot() {
    try (LciTestJob job = LciTestJob.start(1, twoLoops())) {
      LciRuntime lci = job.rank(0);
      Inbox whole = lci.inbox(ENDS, InboxOptions.builder().partitions(2).build());
      assertThatThrownBy(() -> lci.post(Op.barrier().completeTo(whole)))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("partitions()");
      Inbox part = whole.partitions().get(1);
      lci.post(Op.barrier().completeTo(part)).block(LIMIT);
      assertThat(part.receive().next().block(LIMIT).size()).isZero();
    }
  }
}
