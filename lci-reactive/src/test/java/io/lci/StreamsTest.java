/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.lci.am.Port;
import io.lci.error.LciClosedException;
import io.lci.error.NoSuchStreamException;
import io.lci.error.PeerFailedException;
import io.lci.error.PeerLeftException;
import io.lci.error.RemoteException;
import io.lci.rpc.Rpc;
import io.lci.rpc.RpcHandler;
import io.lci.stream.StreamLimits;
import io.lci.stream.Streams;
import io.lci.stream.SubscribeOptions;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.core.scheduler.Schedulers;
import reactor.test.StepVerifier;

/** Streams between ranks over the real core. */
@ExtendWith(LciLeakCheck.class)
class StreamsTest {
  private static final Duration LIMIT = Duration.ofSeconds(90);
  private static final SubscribeOptions PATIENT =
      SubscribeOptions.builder().awaitPublisher(LIMIT).build();

  private static LciTestJob chaos(int ranks, int seed) {
    String chaos = "seed=" + seed + ",delay=0.2,ticks=12,refuse=0.1,short=0.2";
    return LciTestJob.start(ranks, LciOptions.builder().attribute("chaos", chaos).build());
  }

  @Test
  void toAnotherRankAndToItself() {
    try (LciTestJob job = LciTestJob.start(2)) {
      for (int rank = 0; rank < 2; rank++) {
        job.rank(rank).streams().publish("words", Flux.just("a", "b", "rank " + rank), Codec.UTF8);
      }
      for (int rank = 0; rank < 2; rank++) {
        Flux<String> words = job.rank(0).streams().subscribe(rank, "words", Codec.UTF8);
        assertThat(words.collectList().block(LIMIT)).containsExactly("a", "b", "rank " + rank);
        assertThat(words.take(1).collectList().block(LIMIT)).containsExactly("a");
      }
    }
  }

  // Proves: Y3
  // On: inproc
  @ParameterizedTest(name = "{0} bytes")
  @ValueSource(ints = {0, 1, 200, 8_000, 8_192, 100_000, 16 << 20})
  void itemsOfEverySize(int bytes) {
    try (LciTestJob job = LciTestJob.start(2)) {
      byte[] item = new byte[bytes];
      for (int i = 0; i < bytes; i++) {
        item[i] = (byte) (i * 31 + (i >> 8));
      }
      job.rank(1).streams().publish("s", Flux.just(item, new byte[1], item), Codec.BYTES);
      List<byte[]> got =
          job.rank(0).streams().subscribe(1, "s", Codec.BYTES).collectList().block(LIMIT);
      assertThat(got).hasSize(3);
      assertThat(Arrays.equals(got.get(0), item) && Arrays.equals(got.get(2), item)).isTrue();
    }
  }

  // Proves: Y3
  // On: chaos
  @ParameterizedTest(name = "seed {0}")
  @ValueSource(ints = {1, 2, 3})
  void orderIsKeptUnderChaos(int seed) {
    int[] sizes = {0, 8, 180, 7_000, 20_000};
    try (LciTestJob job = chaos(3, seed)) {
      int count = 400;
      for (LciRuntime lci : job.ranks()) {
        Flux<byte[]> items =
            Flux.range(0, count)
                .map(
                    i -> {
                      byte[] bytes = new byte[4 + sizes[i % sizes.length]];
                      Arrays.fill(bytes, i.byteValue());
                      bytes[0] = (byte) lci.rank();
                      return bytes;
                    });
        lci.streams().publish("s", items, Codec.BYTES);
      }
      List<Mono<Long>> all =
          IntStream.range(0, 9)
              .mapToObj(
                  pair -> {
                    AtomicInteger next = new AtomicInteger();
                    int from = pair % 3;
                    return job.rank(pair / 3)
                        .streams()
                        .subscribe(from, "s", Codec.BYTES)
                        .limitRate(pair % 2 == 0 ? 256 : 5)
                        .doOnNext(
                            bytes -> {
                              int i = next.getAndIncrement();
                              assertThat(bytes).hasSize(4 + sizes[i % sizes.length]);
                              assertThat(bytes[0]).isEqualTo((byte) from);
                              assertThat(bytes[bytes.length - 1]).isEqualTo((byte) i);
                            })
                        .count();
                  })
              .collect(Collectors.toList());
      assertThat(Flux.merge(all).collectList().block(LIMIT)).hasSize(9).containsOnly((long) count);
      assertThat(job.rank(0).snapshot().counter("chaos_refused")).isPositive();
    }
  }

  // Proves: Y5
  // On: inproc
  @Test
  void aSlowStreamDelaysNoOther() {
    try (LciTestJob job = LciTestJob.start(2)) {
      job.rank(1).streams().publish("n", Flux.range(0, 30_000), Codec.INT);
      Flux<Integer> numbers = job.rank(0).streams().subscribe(1, "n", Codec.INT);
      CopyOnWriteArrayList<Integer> taken = new CopyOnWriteArrayList<>();
      BaseSubscriber<Integer> slow =
          new BaseSubscriber<>() {
            @Override
            protected void hookOnSubscribe(Subscription subscription) {
              request(2);
            }

            @Override
            protected void hookOnNext(Integer value) {
              taken.add(value);
            }
          };
      numbers.subscribe(slow);
      assertThat(numbers.count().block(LIMIT)).isEqualTo(30_000);
      await().atMost(LIMIT).until(() -> taken.equals(List.of(0, 1)));
      slow.cancel();
    }
  }

  @Test
  void sourcesAndSubscribersOnOtherThreads() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Flux<Long> source =
          Flux.range(0, 3_000).map(i -> (long) i).publishOn(Schedulers.parallel(), 32);
      job.rank(1).streams().publish("n", source, Codec.LONG);
      Long sum =
          job.rank(0)
              .streams()
              .subscribe(1, "n", Codec.LONG)
              .publishOn(Schedulers.boundedElastic(), 64)
              .reduce(0L, Long::sum)
              .block(LIMIT);
      assertThat(sum).isEqualTo(3_000L * 2_999 / 2);
    }
  }

  @Test
  void errorsAreCodeAndMessage() {
    try (LciTestJob job = LciTestJob.start(2)) {
      job.rank(1)
          .streams()
          .publish(
              "s",
              Flux.just(1, 2).concatWith(Flux.error(new RemoteException("disk_full", "17 of 17"))),
              Codec.INT);
      StepVerifier.create(job.rank(0).streams().subscribe(1, "s", Codec.INT))
          .expectNext(1, 2)
          .expectErrorSatisfies(
              e -> {
                assertThat(e).isInstanceOf(RemoteException.class);
                assertThat(((RemoteException) e).code()).isEqualTo("disk_full");
                assertThat(((RemoteException) e).hint()).isEqualTo("17 of 17");
              })
          .verify(LIMIT);
      // A codec that fails on either side
      job.rank(1).streams().publish("text", Flux.just("abc", "12345678"), Codec.UTF8);
      StepVerifier.create(job.rank(0).streams().subscribe(1, "text", Codec.LONG))
          .expectError(IndexOutOfBoundsException.class)
          .verify(LIMIT);
      Codec<Integer> broken =
          Codec.of(
              (i, out) -> {
                throw new IllegalStateException("no such field");
              },
              in -> 0);
      job.rank(1).streams().publish("broken", Flux.just(1), broken);
      StepVerifier.create(job.rank(0).streams().subscribe(1, "broken", Codec.INT))
          .expectErrorSatisfies(e -> assertThat(e).hasMessageContaining("no such field"))
          .verify(LIMIT);
      StepVerifier.create(job.rank(0).streams().subscribe(1, "unknown", Codec.INT))
          .expectError(NoSuchStreamException.class)
          .verify(LIMIT);
    }
  }

  // Proves: Y1
  // On: inproc
  @Test
  void aSubscriberWaitsForAPublisherAndForARankThatOpensLate() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Mono<List<Integer>> early =
          job.rank(0)
              .streams()
              .subscribe(1, "late", Codec.INT, PATIENT)
              .collectList()
              .cache(); // rank 1 has not opened its streams yet
      early.subscribe();
      job.rank(0).barrier().and(job.rank(1).barrier()).block(LIMIT);
      job.rank(1).streams().publish("late", Flux.range(0, 3), Codec.INT);
      assertThat(early.block(LIMIT)).containsExactly(0, 1, 2);
    }
  }

  // Proves: Y4
  // On: inproc
  @Test
  void aCancelReachesTheSourceAndADeathToo() {
    try (LciTestJob job = LciTestJob.start(3)) {
      AtomicInteger alive = new AtomicInteger();
      Flux<Integer> source =
          Flux.<Integer>never()
              .doOnSubscribe(s -> alive.incrementAndGet())
              .doFinally(how -> alive.decrementAndGet());
      job.ranks().forEach(lci -> lci.streams().publish("s", source, Codec.INT));
      var subscription = job.rank(0).streams().subscribe(1, "s", Codec.INT).subscribe();
      await().atMost(LIMIT).until(() -> alive.get() == 1);
      subscription.dispose();
      await().atMost(LIMIT).until(() -> alive.get() == 0);
      // Rank 2 goes: as a subscriber, and as a publisher
      job.rank(2)
          .streams()
          .subscribe(1, "s", Codec.INT)
          .onErrorComplete(LciClosedException.class)
          .subscribe();
      Mono<Integer> from = job.rank(0).streams().subscribe(2, "s", Codec.INT).next().cache();
      from.onErrorComplete().subscribe();
      await().atMost(LIMIT).until(() -> alive.get() == 2);
      job.rank(2).abort();
      assertThatThrownBy(() -> from.block(LIMIT)).isInstanceOf(PeerFailedException.class);
      await().atMost(LIMIT).until(() -> alive.get() == 0);
    }
  }

  /** A rank that completes its stream and leaves at once: the stream is whole. */
  @Test
  void whatWasSentBeforeLeavingArrives() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Sinks.Empty<Void> told = Sinks.empty();
      job.rank(1)
          .streams()
          .publish("s", Flux.range(0, 200).doOnComplete(told::tryEmitEmpty), Codec.INT);
      job.rank(1).streams().publish("open", Flux.never(), Codec.INT);
      Mono<Long> count = job.rank(0).streams().subscribe(1, "s", Codec.INT).count().cache();
      Mono<Integer> open = job.rank(0).streams().subscribe(1, "open", Codec.INT).next().cache();
      open.onErrorComplete().subscribe();
      count.subscribe();
      told.asMono().block(LIMIT);
      assertThat(count.block(LIMIT)).isEqualTo(200);
      job.rank(1).disposeGracefully(LIMIT).block(LIMIT);
      assertThatThrownBy(() -> open.block(LIMIT)).isInstanceOf(PeerLeftException.class);
    }
  }

  @Test
  void closingEndsEverythingHere() {
    try (LciTestJob job = LciTestJob.start(2)) {
      job.rank(1).streams().publish("s", Flux.never(), Codec.INT);
      Mono<Integer> open = job.rank(0).streams().subscribe(1, "s", Codec.INT).next().cache();
      open.onErrorComplete().subscribe();
      var streams = job.rank(0).streams();
      job.rank(0).close();
      assertThatThrownBy(() -> open.block(LIMIT)).isInstanceOf(LciClosedException.class);
      assertThatThrownBy(() -> streams.subscribe(1, "s", Codec.INT).blockLast(LIMIT))
          .isInstanceOf(LciClosedException.class);
      assertThatThrownBy(() -> job.rank(1).inbox(Port.of(Port.MAX_NUMBER + 1, "mine")))
          .isInstanceOf(IllegalArgumentException.class);
    }
  }

  @Test
  void anInvokerDrivesItsStreams() {
    LciOptions options = LciOptions.builder().invoker(true).build();
    try (LciRuntime lci = LciRuntime.create(options)) {
      lci.streams().publish("n", Flux.range(0, 1_000), Codec.INT);
      Long count =
          lci.loops().get(0).await(lci.streams().subscribe(0, "n", Codec.INT).count(), LIMIT);
      assertThat(count).isEqualTo(1_000);
    }
  }

  @Test
  void limitsAreChecked() {
    StreamLimits defaults = StreamLimits.defaults();
    assertThatThrownBy(() -> defaults.mutate().streams(0).build())
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> defaults.mutate().itemBytes(0).build())
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> defaults.mutate().waiting(-1).build())
        .isInstanceOf(IllegalArgumentException.class);
    assertThat(
            LciOptions.builder()
                .streamLimits(defaults.mutate().requests(7).build())
                .build()
                .mutate()
                .build())
        .extracting(o -> o.streamLimits().requests())
        .isEqualTo(7);
    assertThatThrownBy(() -> PATIENT.mutate().awaitPublisher(Duration.ofMillis(-1)).build())
        .isInstanceOf(IllegalArgumentException.class);
  }

  /** As everything else of a runtime that is closed. */
  @Test
  void nothingIsPublishedOrServedAfterTheClose() {
    Streams streams;
    Rpc rpc;
    try (LciTestJob job = LciTestJob.start(1)) {
      streams = job.rank(0).streams();
      rpc = job.rank(0).rpc();
    }
    assertThatThrownBy(() -> streams.publish("late", Flux.never(), Codec.INT))
        .isInstanceOf(LciClosedException.class)
        .hasMessageContaining("publish");
    assertThatThrownBy(() -> rpc.serve("late", RpcHandler.response(m -> Mono.empty())))
        .isInstanceOf(LciClosedException.class)
        .hasMessageContaining("serve");
  }
}
