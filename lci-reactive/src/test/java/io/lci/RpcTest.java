/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.error.DeadlineExceededException;
import io.lci.error.PeerFailedException;
import io.lci.rpc.CallOptions;
import io.lci.rpc.RpcHandler;
import io.lci.stream.StreamLimits;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.test.scheduler.VirtualTimeScheduler;

/** The four interactions over the real core. */
@ExtendWith(LciLeakCheck.class)
class RpcTest {
  private static final Duration LIMIT = Duration.ofSeconds(90);
  private static final Duration STORM = Duration.ofMinutes(19);
  private static final int ECHOES = Integer.getInteger("lci.test.operations", 10_000);

  /** Counts, and answers in every way. */
  private static final class Calculator implements RpcHandler {
    final CopyOnWriteArrayList<Long> forgotten = new CopyOnWriteArrayList<>();

    @Override
    public Mono<Void> fireAndForget(Message request) {
      return Mono.fromRunnable(() -> forgotten.add(request.getLong(0)));
    }

    @Override
    public Mono<Payload> requestResponse(Message request) {
      return Mono.just(Payload.ofLong(2 * request.getLong(0)));
    }

    @Override
    public Publisher<Payload> requestStream(Message request) {
      return Flux.range(0, (int) request.getLong(0)).map(i -> Payload.ofLong(i));
    }

    @Override
    public Publisher<Payload> requestChannel(int rank, Flux<Message> requests) {
      return requests
          .scan(0L, (sum, m) -> sum + m.getLong(0))
          .skip(1)
          .map(sum -> Payload.ofLong(sum));
    }
  }

  // Proves: Y6
  // On: inproc
  @ParameterizedTest(name = "of rank {0}")
  @ValueSource(ints = {0, 1})
  void theFourInteractions(int server) {
    try (LciTestJob job = LciTestJob.start(2)) {
      Calculator calculator = new Calculator();
      job.rank(server).rpc().serve("calculate", calculator);
      var rpc = job.rank(0).rpc();
      rpc.fireAndForget(server, "calculate", Payload.ofLong(5)).block(LIMIT);
      await().atMost(LIMIT).until(() -> calculator.forgotten.equals(List.of(5L)));
      assertThat(
              rpc.requestResponse(server, "calculate", Payload.ofLong(21))
                  .map(m -> m.getLong(0))
                  .block(LIMIT))
          .isEqualTo(42);
      assertThat(
              rpc.requestStream(server, "calculate", Payload.ofLong(1_000))
                  .map(m -> m.getLong(0))
                  .collectList()
                  .block(LIMIT))
          .hasSize(1_000)
          .isSorted();
      Flux<Payload> requests = Flux.range(1, 100).map(i -> Payload.ofLong(i));
      assertThat(
              rpc.requestChannel(server, "calculate", requests)
                  .map(m -> m.getLong(0))
                  .takeLast(1)
                  .blockLast(LIMIT))
          .isEqualTo(5_050);
    }
  }

  @Test
  void largeRequestsAndAnswers() {
    try (LciTestJob job = LciTestJob.start(2)) {
      job.rank(1)
          .rpc()
          .serve("echo", RpcHandler.response(m -> Mono.just(Payload.of(m.toByteArray()))));
      byte[] bytes = new byte[1 << 20];
      new java.util.Random(1).nextBytes(bytes);
      List<Boolean> same =
          Flux.range(0, 12)
              .flatMap(
                  i ->
                      job.rank(0)
                          .rpc()
                          .requestResponse(1, "echo", Payload.of(bytes))
                          .map(m -> java.util.Arrays.equals(m.toByteArray(), bytes)))
              .collectList()
              .block(LIMIT);
      assertThat(same).hasSize(12).containsOnly(true);
    }
  }

  @Test
  void handlersMayWorkElsewhere() {
    try (LciTestJob job = LciTestJob.start(2)) {
      job.rank(1)
          .rpc()
          .serve(
              "slow",
              RpcHandler.response(
                  m ->
                      Mono.fromCallable(() -> Payload.ofInt(m.getInt(0)))
                          .subscribeOn(Schedulers.boundedElastic())));
      Long sum =
          Flux.range(0, 500)
              .flatMap(i -> job.rank(0).rpc().requestResponse(1, "slow", Payload.ofInt(i)), 64)
              .map(m -> (long) m.getInt(0))
              .reduce(0L, Long::sum)
              .block(LIMIT);
      assertThat(sum).isEqualTo(500L * 499 / 2);
    }
  }

  @Test
  void aDeadlineCancelsTheHandler() {
    VirtualTimeScheduler clock = VirtualTimeScheduler.create();
    LciOptions virtual = LciOptions.builder().timer(clock).build();
    try (LciTestJob job =
        LciTestJob.start(2, rank -> rank == 0 ? virtual : LciOptions.defaults())) {
      AtomicInteger working = new AtomicInteger();
      AtomicInteger cancelled = new AtomicInteger();
      Mono<Payload> never =
          Mono.<Payload>never()
              .doOnSubscribe(s -> working.incrementAndGet())
              .doOnCancel(cancelled::incrementAndGet);
      job.rank(1).rpc().serve("never", RpcHandler.response(m -> never));
      CallOptions brief = CallOptions.builder().deadline(Duration.ofMillis(20)).build();
      Mono<Message> call =
          job.rank(0).rpc().requestResponse(1, "never", Payload.empty(), brief).cache();
      call.subscribe(m -> {}, e -> {});
      await().atMost(LIMIT).until(() -> working.get() == 1);
      clock.advanceTimeBy(Duration.ofMillis(20));
      assertThatThrownBy(() -> call.block(LIMIT)).isInstanceOf(DeadlineExceededException.class);
      await().atMost(LIMIT).until(() -> cancelled.get() == 1 && idle(job));
    }
  }

  private static boolean idle(LciTestJob job) {
    return job.ranks().stream()
        .map(LciRuntime::snapshot)
        .allMatch(s -> s.counter("exchanges_opened") == s.counter("exchanges_ended"));
  }

  @Test
  void aDeathEndsAllCallsToThatRankAndNoOthers() {
    try (LciTestJob job = LciTestJob.start(3)) {
      for (int rank = 1; rank < 3; rank++) {
        job.rank(rank).rpc().serve("never", RpcHandler.response(m -> Mono.never()));
        job.rank(rank).rpc().serve("echo", RpcHandler.response(m -> Mono.just(Payload.ofInt(1))));
      }
      var rpc = job.rank(0).rpc();
      List<Mono<Message>> calls =
          Flux.range(0, 50)
              .map(i -> rpc.requestResponse(1, "never", Payload.empty()).cache())
              .doOnNext(call -> call.onErrorComplete().subscribe())
              .collectList()
              .block();
      rpc.requestResponse(1, "echo", Payload.empty()).block(LIMIT);
      job.rank(1).abort();
      for (Mono<Message> call : calls) {
        assertThatThrownBy(() -> call.block(LIMIT))
            .isInstanceOfSatisfying(
                PeerFailedException.class, e -> assertThat(e.rank()).isEqualTo(1));
      }
      assertThatThrownBy(() -> rpc.requestResponse(1, "echo", Payload.empty()).block(LIMIT))
          .isInstanceOf(PeerFailedException.class);
      assertThat(rpc.requestResponse(2, "echo", Payload.empty()).block(LIMIT)).isNotNull();
    }
  }

  /** Every rank asks every other as fast as it may, with few places: nobody waits for ever. */
  private static void storm(LciTestJob job, int count) {
    for (LciRuntime lci : job.ranks()) {
      lci.rpc()
          .serve("echo", RpcHandler.response(m -> Mono.just(Payload.ofLong(3 * m.getLong(0)))));
    }
    List<Mono<Long>> all =
        job.ranks().stream()
            .map(
                lci ->
                    Flux.range(0, count)
                        .flatMap(
                            i ->
                                lci.rpc()
                                    .requestResponse(
                                        (lci.rank() + 1 + i % (job.size() - 1)) % job.size(),
                                        "echo",
                                        Payload.ofLong(i))
                                    .doOnNext(m -> assertThat(m.getLong(0)).isEqualTo(3L * i)),
                            256)
                        .count())
            .toList();
    assertThat(Flux.merge(all).collectList().block(STORM)).containsOnly((long) count);
    await().atMost(LIMIT).until(() -> idle(job)); // who answered hears of the end later
  }

  /** The soak has a million. */
  // Proves: X10
  // On: inproc
  @Test
  @Timeout(1200) // only ends what hangs
  void anEchoStormWithFewPlaces() {
    StreamLimits few = StreamLimits.builder().requests(16).waiting(256).build();
    try (LciTestJob job = LciTestJob.start(2, LciOptions.builder().streamLimits(few).build())) {
      storm(job, ECHOES);
    }
  }

  // Proves: X10
  // On: chaos
  @ParameterizedTest(name = "seed {0}")
  @ValueSource(ints = {1, 2, 3})
  void norUnderChaos(int seed) {
    StreamLimits few = StreamLimits.builder().requests(16).waiting(256).build();
    String chaos = "seed=" + seed + ",delay=0.2,ticks=12,refuse=0.1,short=0.2";
    try (LciTestJob job =
        LciTestJob.start(
            3, LciOptions.builder().attribute("chaos", chaos).streamLimits(few).build())) {
      storm(job, 500);
      assertThat(job.rank(0).snapshot().counter("chaos_refused")).isPositive();
    }
  }
}
