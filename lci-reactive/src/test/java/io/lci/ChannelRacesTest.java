/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.error.PeerFailedException;
import io.lci.rpc.RpcHandler;
import io.lci.stream.StreamLimits;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Publisher;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/**
 * Cancels, ends and a death that come from other threads while exchanges are under way: whoever
 * wins, every exchange ends on both sides and every source hears of it. The seed names the run.
 */
@ExtendWith(LciLeakCheck.class)
class ChannelRacesTest {
  private static final Duration LIMIT = Duration.ofSeconds(90);

  /** Sources that were subscribed to and have not ended. */
  private final AtomicInteger alive = new AtomicInteger();

  private static LciOptions chaos(int seed) {
    return LciOptions.builder()
        .attribute("chaos", "seed=" + seed + ",delay=0.2,ticks=12,refuse=0.1,short=0.2")
        .streamLimits(StreamLimits.builder().requests(32).build())
        .build();
  }

  private <T> Flux<T> counted(Flux<T> source) {
    return source
        .doOnSubscribe(s -> alive.incrementAndGet())
        .doFinally(how -> alive.decrementAndGet());
  }

  private Flux<Payload> numbers(int count) {
    return counted(Flux.range(0, count).map(Payload::ofInt));
  }

  private void serve(LciRuntime lci) {
    lci.streams().publish("s", counted(Flux.range(0, 500)), Codec.INT);
    lci.rpc()
        .serve(
            "f",
            new RpcHandler() {
              @Override
              public Mono<Payload> requestResponse(Message request) {
                return Mono.just(Payload.ofInt(1)).publishOn(Schedulers.parallel());
              }

              @Override
              public Publisher<Payload> requestStream(Message request) {
                return numbers(500);
              }

              @Override
              public Publisher<Payload> requestChannel(int rank, Flux<Message> requests) {
                return counted(requests.map(m -> Payload.of(m.toByteArray())));
              }
            });
  }

  private Flux<?> exchange(LciRuntime lci, int to, int which) {
    return switch (which % 4) {
      case 0 -> lci.streams().subscribe(to, "s", Codec.INT);
      case 1 -> lci.rpc().requestResponse(to, "f", Payload.of(new byte[20_000])).flux();
      case 2 -> lci.rpc().requestStream(to, "f", Payload.empty()).limitRate(7);
      default -> lci.rpc().requestChannel(to, "f", numbers(100));
    };
  }

  private static boolean idle(LciRuntime lci) {
    LciSnapshot snapshot = lci.snapshot();
    return snapshot.counter("exchanges_opened") == snapshot.counter("exchanges_ended");
  }

  // On: chaos
  @ParameterizedTest(name = "seed {0}")
  @ValueSource(ints = {1, 2, 3})
  void cancelsFromOtherThreadsLeaveNothing(int seed) {
    Random random = new Random(seed);
    AtomicInteger cancelled = new AtomicInteger();
    try (LciTestJob job = LciTestJob.start(2, chaos(seed))) {
      job.ranks().forEach(this::serve);
      for (int i = 0; i < 200; i++) {
        Disposable running = exchange(job.rank(i & 1), 1 - (i & 1), i >> 1).subscribe();
        Runnable cancel =
            () -> {
              running.dispose();
              cancelled.incrementAndGet();
            };
        Schedulers.parallel().schedule(cancel, random.nextInt(20_000), TimeUnit.MICROSECONDS);
      }
      await()
          .atMost(LIMIT)
          .until(() -> cancelled.get() == 200); // idle it was before they began, too
      await().atMost(LIMIT).until(() -> job.ranks().stream().allMatch(ChannelRacesTest::idle));
      await().atMost(LIMIT).until(() -> alive.get() == 0);
    }
  }

  // On: chaos
  @ParameterizedTest(name = "seed {0}")
  @ValueSource(ints = {1, 2, 3})
  void aDeathUnderLoadEndsWhatIsWithThatRank(int seed) {
    try (LciTestJob job = LciTestJob.start(3, chaos(seed))) {
      job.ranks().forEach(this::serve);
      AtomicInteger done = new AtomicInteger();
      Long ended =
          Flux.range(0, 240)
              .flatMap(
                  i -> {
                    int to = 1 + (i & 1);
                    return exchange(job.rank(0), to, i >> 1)
                        .then(Mono.just("done"))
                        .onErrorResume(
                            PeerFailedException.class,
                            e -> {
                              assertThat(e.rank()).isEqualTo(1);
                              return Mono.just("lost");
                            })
                        .doOnNext(
                            how -> {
                              assertThat(how)
                                  .satisfiesAnyOf(
                                      done1 -> assertThat(done1).isEqualTo("done"),
                                      lost -> assertThat(to).isEqualTo(1));
                              if (done.incrementAndGet() == 40) {
                                job.rank(1).abort();
                              }
                            });
                  },
                  48)
              .count()
              .block(LIMIT);
      assertThat(ended).isEqualTo(240);
      await().atMost(LIMIT).until(() -> idle(job.rank(0)) && idle(job.rank(2)));
      await().atMost(LIMIT).until(() -> alive.get() == 0);
    }
  }
}
