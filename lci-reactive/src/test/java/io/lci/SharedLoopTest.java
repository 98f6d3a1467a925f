/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.lci.am.InboxOptions;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.am.SenderOptions;
import io.lci.error.LciException;
import io.lci.error.PeerLeftException;
import io.lci.matching.EngineOptions;
import io.lci.matching.MatchingEngine;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Loops that serve several devices. */
@ExtendWith(LciLeakCheck.class)
class SharedLoopTest {
  private static final Port PORT = Port.of(51, "shared");
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private static LciOptions options(int loops, int devices) {
    return LciOptions.builder().loops(loops).devices(devices).build();
  }

  @Test
  void devicesAreSharedOutInOrder() {
    try (LciTestJob job = LciTestJob.start(1, options(2, 5))) {
      assertThat(job.rank(0).loops().stream().map(LciLoop::devices))
          .containsExactly(List.of(0, 1), List.of(2, 3, 4));
      assertThat(job.rank(0).snapshot().devices()).isEqualTo(5);
    }
    try (LciTestJob job = LciTestJob.start(1, options(3, 3))) {
      assertThat(job.rank(0).loops().stream().map(LciLoop::devices))
          .containsExactly(List.of(0), List.of(1), List.of(2));
    }
  }

  /** Ranks need the same devices, not the same loops. */
  @Test
  void oneLoopTalksToManyOverAllDevices() {
    int devices = 3;
    int count = 5_000;
    try (LciTestJob job = LciTestJob.start(2, rank -> options(rank == 0 ? 1 : 2, devices))) {
      for (int to : new int[] {1, 0}) {
        int home = job.rank(to).loops().size() - 1;
        Mono<Long> received =
            job.rank(to)
                .inbox(PORT, InboxOptions.builder().loop(home).build())
                .receive(m -> m.getLong(0))
                .take((long) devices * count)
                .reduce(0L, Long::sum);
        Mono<Void> sent =
            Flux.range(0, devices)
                .flatMap(
                    device ->
                        job.rank(1 - to)
                            .sender(PORT, SenderOptions.builder().device(device).build())
                            .sendAll(to, Flux.range(0, count), (n, out) -> out.putLong(n)))
                .then();
        assertThat(Mono.zip(received, sent.thenReturn(1)).block(LIMIT).getT1())
            .isEqualTo((long) devices * count * (count - 1) / 2);
        for (int device = 0; device < devices; device++) {
          assertThat(job.rank(1 - to).snapshot().counter("operations_am_done", device))
              .as("device %d", device)
              .isEqualTo(count);
        }
      }
    }
  }

  /** Operations, too: each device of a loop has its own sends, receives and large messages. */
  @Test
  void operationsGoOverTheDeviceThatTheyName() {
    int devices = 3;
    try (LciTestJob job = LciTestJob.start(2, options(1, devices))) {
      byte[] large = new byte[50_000];
      for (int number = 0; number < devices; number++) {
        int device = number;
        for (Payload payload : List.of(Payload.ofLong(device), Payload.of(large))) {
          Op receive = Op.receive(0, device, large.length).advanced(a -> a.device(device));
          Op send = Op.send(1, device, payload).advanced(a -> a.device(device));
          assertThat(
                  Mono.zip(job.rank(1).post(receive), job.rank(0).post(send)).block(LIMIT).getT1())
              .satisfies(c -> assertThat(c.size()).isEqualTo(payload.size()));
        }
        assertThat(
                job.rank(0).snapshot().counter("operations_send_done", device)
                    + job.rank(0).snapshot().counter("operations_send_posted", device))
            .isEqualTo(2);
      }
      assertThatThrownBy(
              () ->
                  job.rank(0).post(Op.send(1, 0, Payload.empty()).advanced(a -> a.device(devices))))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("devices 0 to 2");
    }
  }

  /** A receive is cancelled on its own device, in its own engine. */
  @Test
  void aCancelledReceiveIsFoundOnItsDevice() {
    try (LciTestJob job = LciTestJob.start(1, options(1, 2))) {
      LciRuntime lci = job.rank(0);
      MatchingEngine engine = lci.tagged().engine(3, EngineOptions.defaults());
      for (Op receive :
          List.of(
              Op.receive(0, 1, 8).advanced(a -> a.device(1)),
              Op.receive(0, 1, 8).engine(engine),
              Op.receive(0, 1, 8).engine(engine).advanced(a -> a.device(1)))) {
        Disposable waiting = lci.post(receive).subscribe();
        await().atMost(LIMIT).until(() -> lci.snapshot().counter("receives_pending") == 1);
        waiting.dispose();
        await().atMost(LIMIT).until(() -> lci.snapshot().counter("receives_pending") == 0);
      }
    }
  }

  /** What one device refuses does not hold up the other device of the loop. */
  @Test
  void aKeyIsADeviceARankAndAPort() {
    try (LciTestJob job = LciTestJob.start(2, options(1, 2))) {
      LciRuntime from = job.rank(0);
      AtomicInteger parked = new AtomicInteger();
      List<Throwable> errors = new CopyOnWriteArrayList<>();
      // Device 0: the port is not open there, so all but the first wait.
      for (int i = 0; i < 10; i++) {
        from.post(Op.am(1, PORT, Payload.ofInt(i)).advanced(a -> a.device(0)))
            .subscribe(c -> {}, errors::add, parked::incrementAndGet);
      }
      await().atMost(LIMIT).until(() -> from.snapshot().counter("loop_parked") == 9);
      // Device 1 has a slot of its own for an announcement.
      from.post(Op.am(1, PORT, Payload.ofInt(10)).advanced(a -> a.device(1))).block(LIMIT);
      assertThat(from.snapshot().counter("loop_parked")).isEqualTo(9);
      assertThat(
              job.rank(1).inbox(PORT).receive(m -> m.getInt(0)).take(11).collectList().block(LIMIT))
          .hasSize(11)
          .doesNotHaveDuplicates();
      await().atMost(LIMIT).until(() -> parked.get() == 10);
      assertThat(errors).isEmpty();
    }
  }

  /** Every device tells of a peer's end; the program hears of it once, after the last message. */
  @Test
  void aPeersEndIsToldOnce() {
    try (LciTestJob job = LciTestJob.start(2, options(1, 3))) {
      LciRuntime stays = job.rank(0);
      List<PeerEvent> events = new CopyOnWriteArrayList<>();
      stays.peerEvents().subscribe(events::add, e -> {});
      List<Throwable> ended = new CopyOnWriteArrayList<>();
      for (int number = 0; number < 3; number++) {
        int device = number;
        stays
            .post(Op.receive(1, 1, 8).advanced(a -> a.device(device)))
            .subscribe(c -> {}, ended::add);
      }
      await().atMost(LIMIT).until(() -> stays.snapshot().counter("receives_pending") == 3);
      job.rank(1).close();
      await().atMost(LIMIT).until(() -> ended.size() == 3);
      assertThat(ended)
          .allSatisfy(e -> assertThat(e).isInstanceOf(PeerLeftException.class))
          .extracting(e -> ((LciException) e).device())
          .containsExactlyInAnyOrder(0, 1, 2);
      stays.barrier().onErrorComplete().block(LIMIT); // turns of the loop
      assertThat(events).containsExactly(new PeerEvent(1, PeerEvent.State.LEFT));
    }
  }

  /** Loop 1 serves the devices 2 and 3. */
  @Test
  void whatIsToldOfOperationsNamesTheirDevice() {
    ConcurrentLinkedQueue<Integer> timed = new ConcurrentLinkedQueue<>();
    LciInstrumentation timing =
        new LciInstrumentation() {
          @Override
          public void operationTimed(Op.Kind kind, int device, long nanos) {
            timed.add(device);
          }
        };
    LciOptions options = options(2, 4).mutate().instrumentation(timing).build();
    try (LciTestJob job = LciTestJob.start(1, options)) {
      LciRuntime lci = job.rank(0);
      PostOptions all = PostOptions.builder().loop(1).build();
      Op closed = Op.am(0, Port.of(52, "closed"), Payload.empty()).advanced(a -> a.device(3));
      Disposable waiting = lci.post(Flux.range(0, 100).map(i -> closed), all).subscribe();
      await().atMost(LIMIT).until(() -> !lci.snapshot().waiting().isEmpty());
      assertThat(lci.snapshot().waiting())
          .singleElement()
          .extracting(LciSnapshot.WaitingState::device)
          .isEqualTo(3);
      waiting.dispose();
      Flux<Op> receives = Flux.range(0, 2 * LciInstrumentation.TIMED_EVERY).map(i -> receive());
      Flux<Op> sends = receives.map(i -> Op.send(0, 1, Payload.empty()).advanced(a -> a.device(2)));
      Mono.zip(lci.post(receives, all).count(), lci.post(sends, all).count()).block(LIMIT);
      assertThat(timed).contains(2).doesNotContain(0, 1); // of a receive, when it is matched
    }
  }

  private static Op receive() {
    return Op.receive(0, 1, 8).advanced(a -> a.device(3));
  }

  @Test
  void aBarrierOfAnotherDeviceIsRefusedWithAHint() throws InterruptedException {
    try (LciTestJob job = LciTestJob.start(1, options(2, 2))) {
      LciRuntime lci = job.rank(0);
      ConcurrentLinkedQueue<Throwable> errors = new ConcurrentLinkedQueue<>();
      Op barrier = Op.barrier().onError(errors::add);
      Mono.fromRunnable(() -> lci.loops().get(1).poster().submit(barrier).flush())
          .subscribeOn(lci.loops().get(1).scheduler())
          .block(LIMIT);
      await().atMost(LIMIT).until(() -> errors.size() == 1);
      assertThat(errors)
          .allSatisfy(e -> assertThat(e).hasMessageContaining("barriers go by device 0"));
    }
  }
}
