/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.completion.Completion;
import io.lci.error.LciException;
import io.lci.error.OperationCancelledException;
import io.lci.error.PortMismatchException;
import io.lci.matching.EngineOptions;
import io.lci.matching.MatchingEngine;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

/** Matching engines of the program, with keys of the core and of the program. */
@ExtendWith(LciLeakCheck.class)
class MatchingEnginesTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  @ParameterizedTest
  @EnumSource(EngineOptions.Store.class)
  void enginesDoNotMeet(EngineOptions.Store store) {
    EngineOptions options = EngineOptions.builder().store(store).build();
    try (LciTestJob job = LciTestJob.start(2)) {
      MatchingEngine[] there = {
        job.rank(1).tagged().engine(1, options), job.rank(1).tagged().engine(2, options)
      };
      MatchingEngine[] here = {
        job.rank(0).tagged().engine(1, options), job.rank(0).tagged().engine(2, options)
      };
      List<Mono<Message>> received =
          List.of(
              job.rank(1).post(Op.receive(0, 7, 8)).map(Completion::message),
              job.rank(1).post(Op.receive(0, 7, 8).engine(there[0])).map(Completion::message),
              job.rank(1).post(Op.receive(0, 7, 8).engine(there[1])).map(Completion::message));
      Mono<Void> sent =
          job.rank(0)
              .post(Op.send(1, 7, Payload.ofLong(3)).engine(here[1]))
              .then(job.rank(0).post(Op.send(1, 7, Payload.ofLong(2)).engine(here[0])))
              .then(job.rank(0).post(Op.send(1, 7, Payload.ofLong(1))))
              .then();
      List<Long> values =
          Mono.zip(
                  Flux.mergeSequential(received).map(m -> m.getLong(0)).collectList(),
                  sent.thenReturn(1))
              .block(LIMIT)
              .getT1();
      assertThat(values).containsExactly(1L, 2L, 3L);
    }
  }

  /** The key decides alone, whatever rank and tag are; also where the payload is inline or long. */
  // Proves: B21
  // On: inproc
  @Test
  void keysAreMadeByTheProgramOnBothSides() {
    EngineOptions options =
        EngineOptions.builder()
            .keys((rank, tag, policy) -> (tag / 100) * 31 + policy.ordinal())
            .build();
    try (LciTestJob job = LciTestJob.start(2)) {
      MatchingEngine there = job.rank(1).tagged().engine(9, options);
      MatchingEngine here = job.rank(0).tagged().engine(9, options);
      for (int size : new int[] {0, 8, 200, 5_000, 100_000}) {
        Mono<Completion> received =
            job.rank(1)
                .post(
                    Op.receive(0, 305, 100_000)
                        .engine(there)
                        .advanced(a -> a.matching(Op.Policy.TAG)));
        Mono<Completion> wrong =
            job.rank(0)
                .post(
                    Op.send(1, 205, Payload.of(new byte[1]))
                        .engine(here)
                        .advanced(a -> a.matching(Op.Policy.TAG)));
        Mono<Completion> sent =
            job.rank(0)
                .post(
                    Op.send(1, 399, Payload.of(new byte[size]))
                        .engine(here)
                        .advanced(a -> a.matching(Op.Policy.TAG)));
        Completion completion =
            Mono.zip(received, wrong.then(sent).thenReturn(1)).block(LIMIT).getT1();
        assertThat(completion.size()).isEqualTo(size);
        assertThat(completion.message().size()).isEqualTo(size);
        // What the wrong key has left there is taken by its own.
        Completion left =
            job.rank(1)
                .post(Op.receive(0, 299, 8).engine(there).advanced(a -> a.matching(Op.Policy.TAG)))
                .block(LIMIT);
        assertThat(left.size()).isEqualTo(1);
      }
    }
  }

  @Test
  void wildcardsTellTheKeyMaker() {
    EngineOptions options =
        EngineOptions.builder()
            .keys(
                (rank, tag, policy) ->
                    switch (policy) {
                      case RANK_TAG -> 1_000L * (rank + 1) + tag;
                      case RANK -> -1_000L - rank;
                      case TAG -> -2_000_000L - tag;
                      case NONE -> -1;
                    })
            .build();
    try (LciTestJob job = LciTestJob.start(2)) {
      MatchingEngine there = job.rank(1).tagged().engine(3, options);
      MatchingEngine here = job.rank(0).tagged().engine(3, options);
      for (Op.Policy policy : Op.Policy.values()) {
        int source = policy == Op.Policy.TAG || policy == Op.Policy.NONE ? Op.ANY_SOURCE : 0;
        long tag = policy == Op.Policy.RANK || policy == Op.Policy.NONE ? Op.ANY_TAG : 12;
        Mono<Completion> received = job.rank(1).post(Op.receive(source, tag, 8).engine(there));
        Mono<Completion> sent =
            job.rank(0)
                .post(
                    Op.send(1, 12, Payload.ofLong(4))
                        .engine(here)
                        .advanced(a -> a.matching(policy)));
        Completion completion = Mono.zip(received, sent).block(LIMIT).getT1();
        assertThat(completion.rank()).isZero();
        assertThat(completion.tag()).isEqualTo(12);
      }
    }
  }

  @Test
  void aSendWaitsForTheReceiversEngine() {
    try (LciTestJob job = LciTestJob.start(2)) {
      MatchingEngine here = job.rank(0).tagged().engine(4, EngineOptions.defaults());
      Mono<List<Completion>> sent =
          Flux.range(0, 50)
              .flatMap(i -> job.rank(0).post(Op.send(1, i, Payload.ofLong(i)).engine(here)))
              .collectList()
              .cache();
      sent.subscribe();
      MatchingEngine there = job.rank(1).tagged().engine(4, EngineOptions.defaults());
      Long sum =
          Flux.range(0, 50)
              .flatMap(i -> job.rank(1).post(Op.receive(0, i, 8).engine(there)))
              .map(c -> c.message().getLong(0))
              .reduce(0L, Long::sum)
              .block(LIMIT);
      assertThat(sum).isEqualTo(49 * 50 / 2);
      assertThat(sent.block(LIMIT)).hasSize(50);
    }
  }

  @Test
  void aCancelledReceiveTakesNoMessageOfItsEngine() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      MatchingEngine here = lci.tagged().engine(7, EngineOptions.defaults());
      MatchingEngine there = job.rank(1).tagged().engine(7, EngineOptions.defaults());
      Disposable waiting = lci.post(Op.receive(1, 1, 8).engine(here)).subscribe();
      await().atMost(LIMIT).until(() -> lci.snapshot().counter("receives_pending") == 1);
      waiting.dispose();
      await().atMost(LIMIT).until(() -> lci.snapshot().counter("receives_pending") == 0);
      job.rank(1).post(Op.send(0, 1, Payload.ofLong(9)).engine(there)).block(LIMIT);
      Completion received = lci.post(Op.receive(1, 1, 8).engine(here)).block(LIMIT);
      assertThat(received.message().getLong(0)).isEqualTo(9);
    }
  }

  @Test
  void theEndOfAnEngineEndsItsReceives() {
    try (LciTestJob job = LciTestJob.start(2)) {
      MatchingEngine engine = job.rank(0).tagged().engine(6, EngineOptions.defaults());
      StepVerifier.create(job.rank(0).post(Op.receive(1, 1, 8).engine(engine)))
          .expectSubscription()
          .then(
              () ->
                  job.rank(0)
                      .tagged()
                      .send(0, 77, Payload.empty())
                      .block(LIMIT)) // its turn is over
          .then(engine::dispose)
          .expectError(OperationCancelledException.class)
          .verify(LIMIT);
      engine.dispose();
      assertThat(engine.isDisposed()).isTrue();
      assertThat(job.rank(0).tagged().receive(0, 77).block(LIMIT).size()).isZero();
      assertThat(job.rank(0).tagged().engine(6, EngineOptions.defaults()).number()).isEqualTo(6);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"all", "rings"})
  void whatDoesNotFitIsRefused(String peerMemory) {
    try (LciTestJob job = LciTestJob.start(2, peerMemory(peerMemory))) {
      LciRuntime lci = job.rank(0);
      MatchingEngine engine = lci.tagged().engine(8, EngineOptions.defaults());
      assertThatThrownBy(() -> lci.tagged().engine(8, EngineOptions.defaults()))
          .isInstanceOf(LciException.class);
      for (int number : new int[] {-1, 0, MatchingEngine.MAX_NUMBER + 1}) {
        assertThatThrownBy(() -> lci.tagged().engine(number, EngineOptions.defaults()))
            .isInstanceOf(IllegalArgumentException.class);
      }
      assertThatThrownBy(() -> job.rank(1).post(Op.send(0, 1, Payload.empty()).engine(engine)))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("another runtime");
      MatchingEngine keyed =
          job.rank(1)
              .tagged()
              .engine(8, EngineOptions.builder().keys((rank, tag, policy) -> tag).build());
      assertThat(keyed.number()).isEqualTo(8);
      StepVerifier.create(
              Flux.range(0, 100)
                  .concatMap(i -> lci.post(Op.send(1, i, Payload.ofLong(1)).engine(engine))))
          .thenConsumeWhile(c -> true)
          .expectErrorSatisfies(
              e ->
                  assertThat(e)
                      .isInstanceOf(PortMismatchException.class)
                      .hasMessageContaining("engine 8")
                      .hasMessageContaining("keys of another kind")
                      .hasMessageNotContaining("port number"))
          .verify(LIMIT);
    }
  }

  /**
   * They wait at once, and the refusal is all that they hear. A port is not the engine of its
   * number.
   */
  @ParameterizedTest
  @ValueSource(strings = {"all", "rings"})
  void aRefusalEndsWhatWaitsForTheEngineAndNothingElse(String peerMemory) {
    int count = 20;
    try (LciTestJob job = LciTestJob.start(2, peerMemory(peerMemory))) {
      LciRuntime lci = job.rank(0);
      Port port = Port.of(8, "same number");
      List<Long> sent = new CopyOnWriteArrayList<>();
      Flux.range(0, count)
          .flatMap(i -> lci.sender(port).send(1, Payload.ofLong(i)).thenReturn((long) i), count)
          .subscribe(sent::add);
      await().atMost(LIMIT).until(() -> lci.snapshot().counter("loop_parked") > 0);
      MatchingEngine here = lci.tagged().engine(8, EngineOptions.defaults());
      job.rank(1)
          .tagged()
          .engine(8, EngineOptions.builder().keys((rank, tag, policy) -> tag).build());
      List<Throwable> errors =
          Flux.range(0, count)
              .flatMap(
                  i ->
                      lci.post(Op.send(1, i, Payload.ofLong(i)).engine(here))
                          .then(Mono.<Throwable>empty())
                          .onErrorResume(Mono::just),
                  count)
              .collectList()
              .block(LIMIT);
      assertThat(errors).isNotEmpty().hasOnlyElementsOfType(PortMismatchException.class);
      assertThat(job.rank(1).inbox(port).receive(m -> 1).take(count).count().block(LIMIT))
          .isEqualTo(count);
      await().atMost(LIMIT).until(() -> sent.size() == count);
    }
  }

  private static LciOptions peerMemory(String peerMemory) {
    return LciOptions.builder().attribute("peer_memory", peerMemory).build();
  }
}
