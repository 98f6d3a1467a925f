/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.completion.Completion;
import io.lci.completion.CompletionHandler;
import io.lci.error.LciClosedException;
import io.lci.error.OperationCancelledException;
import io.lci.error.TruncatedException;
import io.lci.rma.MemoryRegion;
import io.lci.rma.RemoteMemory;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Handlers as completion targets: called once for each posted operation, on its loop. */
@ExtendWith(LciLeakCheck.class)
class CompletionHandlersTest {
  private static final Port PORT = Port.of(33, "handlers");
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private final List<Completion> ended = new CopyOnWriteArrayList<>();

  private void awaitEnded(int count) {
    await().atMost(LIMIT).until(() -> ended.size() >= count);
  }

  // Proves: E19
  // On: inproc
  @ParameterizedTest(name = "peer_memory {0}, chaos {1}")
  @CsvSource({"all,''", "rings,''", "rings,seed=1", "all,seed=2"})
  void everyKindCallsItOnce(String peerMemory, String chaos) {
    LciOptions options =
        LciOptions.builder().attribute("peer_memory", peerMemory).attribute("chaos", chaos).build();
    try (LciTestJob job = LciTestJob.start(2, options)) {
      LciRuntime lci = job.rank(0);
      Disposable handling = job.rank(1).inbox(PORT).handle(m -> {});
      MemoryRegion region = job.rank(1).memory().allocate(16_384);
      RemoteMemory remote = lci.memory().remote(1, region.handle());
      CompletionHandler handler = ended::add;
      List<Op> ops =
          List.of(
              Op.am(1, PORT, Payload.ofLong(1)).userContext(0).completeTo(handler),
              Op.am(1, PORT, Payload.of(new byte[20_000])).userContext(1).completeTo(handler),
              Op.send(1, 3, Payload.ofLong(3)).userContext(2).completeTo(handler),
              Op.receive(1, 4, 8).userContext(3).completeTo(handler),
              Op.put(remote, 0, Payload.ofLong(5)).userContext(4).completeTo(handler),
              Op.get(remote, 0, 8).userContext(5).completeTo(handler),
              Op.getAndAdd(remote, 8, 1).userContext(6).completeTo(handler),
              Op.barrier().userContext(7).completeTo(handler));
      Mono<Void> there =
          Mono.when(
              job.rank(1).tagged().receive(0, 3),
              job.rank(1).tagged().send(0, 4, Payload.ofLong(44)),
              job.rank(1).barrier());
      Mono.when(there, Flux.fromIterable(ops).flatMap(lci::post)).block(LIMIT);
      awaitEnded(ops.size());
      Mono.when(lci.barrier(), job.rank(1).barrier()).block(LIMIT); // nothing comes twice
      assertThat(ended)
          .extracting(Completion::userContext)
          .containsExactlyInAnyOrder(0, 1, 2, 3, 4, 5, 6, 7);
      assertThat(ended).allMatch(c -> c.error() == null);
      assertThat(ended)
          .filteredOn(c -> c.userContext() == 3)
          .allMatch(c -> c.message().getLong(0) == 44 && c.rank() == 1 && c.tag() == 4);
      assertThat(ended).filteredOn(c -> c.userContext() == 5).allMatch(c -> c.size() == 8);
      handling.dispose();
    }
  }

  @Test
  void itIsCalledOnTheLoopOfTheDevice() {
    LciOptions options = LciOptions.builder().loops(2).devices(2).build();
    try (LciTestJob job = LciTestJob.start(1, options)) {
      LciRuntime lci = job.rank(0);
      Disposable handling = lci.inbox(PORT).handle(m -> {});
      List<Integer> loops = new CopyOnWriteArrayList<>();
      CompletionHandler handler =
          completion -> {
            lci.loops().stream()
                .filter(LciLoop::inLoop)
                .forEach(loop -> loops.add(loop.index() * 10 + completion.userContext()));
            ended.add(completion);
          };
      for (int number = 0; number < 2; number++) {
        int device = number;
        lci.post(
                Op.am(0, PORT, Payload.empty())
                    .userContext(device)
                    .advanced(a -> a.device(device))
                    .completeTo(handler))
            .block(LIMIT);
      }
      awaitEnded(2);
      assertThat(loops).containsExactlyInAnyOrder(0, 11);
      handling.dispose();
    }
  }

  /** A subscriber that posts and flushes inside its own signal is not interrupted by a handler. */
  @Test
  void itIsNeverCalledInsideAnotherSignal() {
    int count = 500;
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      Poster poster = lci.loops().get(0).poster();
      boolean[] inside = new boolean[1];
      AtomicInteger nested = new AtomicInteger();
      CompletionHandler handler =
          completion -> {
            if (inside[0]) {
              nested.incrementAndGet();
            }
            inside[0] = true; // nor inside itself
            poster.submit(Op.am(0, Port.of(34, "unheard"), Payload.empty()).onError(e -> {}));
            poster.flush();
            inside[0] = false;
            ended.add(completion);
          };
      Disposable unheard = lci.inbox(Port.of(34, "unheard")).handle(m -> {});
      Disposable receiving =
          lci.inbox(PORT)
              .receive(m -> m.getLong(0))
              .subscribe(
                  n -> {
                    inside[0] = true;
                    poster.submit(Op.send(0, n, Payload.ofLong(n)).completeTo(handler)).flush();
                    poster.submit(Op.receive(0, n, 8).completeTo(handler)).flush();
                    inside[0] = false;
                  });
      lci.sender(PORT).sendAll(0, Flux.range(0, count), (n, out) -> out.putLong(n)).block(LIMIT);
      awaitEnded(2 * count);
      assertThat(nested).hasValue(0);
      receiving.dispose();
      unheard.dispose();
    }
  }

  /** The handler hears of a failure as the publisher does. */
  @Test
  void aFailureComesInTheCompletion() {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      Mono<Throwable> failure =
          lci.post(Op.receive(0, 1, 8).userContext(9).completeTo(ended::add))
              .then(Mono.<Throwable>empty())
              .onErrorResume(Mono::just);
      Mono<Void> sent = lci.tagged().send(0, 1, Payload.of(new byte[100]));
      assertThat(Mono.zip(failure, sent.thenReturn(1)).block(LIMIT).getT1())
          .isInstanceOf(TruncatedException.class);
      awaitEnded(1);
      assertThat(ended)
          .singleElement()
          .satisfies(
              c -> {
                assertThat(c.error()).isInstanceOf(TruncatedException.class);
                assertThat(c.error()).hasMessageContaining("receive has room for 8");
                assertThat(c.userContext()).isEqualTo(9);
                assertThat(c.message()).isNull();
              });
    }
  }

  @Test
  void aCancelledReceiveIsToldToo() {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      Disposable waiting = lci.post(Op.receive(0, 1, 8).completeTo(ended::add)).subscribe();
      await().atMost(LIMIT).until(() -> lci.snapshot().counter("receives_pending") == 1);
      waiting.dispose();
      awaitEnded(1);
      assertThat(ended)
          .singleElement()
          .satisfies(c -> assertThat(c.error()).isInstanceOf(OperationCancelledException.class));
    }
  }

  /** Posted by publishers, by the bulk operator and by a poster; each is told once. */
  @Test
  void theEndOfTheLoopIsToldOnce() {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      Op receive = Op.receive(0, 1, 8).completeTo(ended::add);
      List<Throwable> errors = new CopyOnWriteArrayList<>();
      lci.post(receive.userContext(1)).subscribe(c -> {}, errors::add);
      lci.post(Flux.just(receive.userContext(2)), PostOptions.defaults())
          .subscribe(r -> errors.add(r.error()), errors::add);
      lci.loops()
          .get(0)
          .scheduler()
          .schedule(
              () ->
                  lci.loops()
                      .get(0)
                      .poster()
                      .submit(receive.userContext(3).onError(errors::add))
                      .flush());
      lci.post(receive.userContext(4)).subscribe(c -> {}, errors::add);
      await().atMost(LIMIT).until(() -> lci.snapshot().counter("receives_pending") == 4);
      lci.close();
      assertThat(ended).extracting(Completion::userContext).containsExactlyInAnyOrder(1, 2, 3, 4);
      assertThat(ended).allMatch(c -> c.error() instanceof LciClosedException);
      assertThat(errors).isNotEmpty();
    }
  }

  /** The option that allows done again would let ends go unheard. */
  @Test
  void whatIsDoneAtOnceIsTold() {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      Disposable handling = lci.inbox(PORT).handle(m -> {});
      lci.post(
              Op.am(0, PORT, Payload.ofLong(1))
                  .completeTo(ended::add)
                  .advanced(a -> a.allowDone(true)))
          .block(LIMIT);
      awaitEnded(1);
      handling.dispose();
    }
  }
}
