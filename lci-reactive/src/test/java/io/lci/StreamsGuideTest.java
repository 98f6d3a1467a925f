/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.error.LciException;
import io.lci.error.PeerFailedException;
import io.lci.error.PeerLeftException;
import io.lci.error.RemoteException;
import io.lci.rpc.CallOptions;
import io.lci.rpc.RpcHandler;
import io.lci.stream.StreamLimits;
import io.lci.stream.SubscribeOptions;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * What {@code docs/guide/streams.md} shows is what stands here between {@code // show:} and {@code
 * // end}, compiled and run.
 */
@ExtendWith(LciLeakCheck.class)
class StreamsGuideTest {
  private static final Port PRICES = Port.of(64, "prices");
  private static final Duration LIMIT = Duration.ofSeconds(60);

  @Test
  void publishAndSubscribe() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      LciRuntime peer = job.rank(1);
      // show: publish
      Flux<Long> squares = Flux.range(1, 1_000).map(n -> (long) n * n);
      Disposable published = peer.streams().publish("squares", squares, Codec.LONG);
      // end
      // show: subscribe
      Flux<Long> remote = lci.streams().subscribe(1, "squares", Codec.LONG);
      Mono<List<Long>> firstThree = remote.take(3).collectList();
      // end
      assertThat(firstThree.block(LIMIT)).containsExactly(1L, 4L, 9L);
      assertThat(remote.count().block(LIMIT)).isEqualTo(1_000);
      published.dispose();
      // show: await
      SubscribeOptions patient = SubscribeOptions.builder().awaitPublisher(LIMIT).build();
      Flux<String> words = lci.streams().subscribe(1, "words", Codec.UTF8, patient);
      // end
      Mono<List<String>> all = words.collectList().cache();
      all.subscribe();
      peer.streams().publish("words", Flux.just("a", "b"), Codec.UTF8);
      assertThat(all.block(LIMIT)).containsExactly("a", "b");
    }
  }

  @Test
  void shuffles() {
    try (LciTestJob job = LciTestJob.start(2)) {
      List<Mono<Map<String, Long>>> all = new ArrayList<>();
      for (LciRuntime lci : job.ranks()) {
        Flux<String> words = Flux.just("a", "b", "b", "c", "c", "c");
        // show: shuffle
        Flux<String> mine =
            lci.world()
                .streams()
                .shuffle(words, word -> Math.floorMod(word.hashCode(), lci.size()), Codec.UTF8);
        Mono<Map<String, Long>> counts =
            mine.collect(Collectors.groupingBy(w -> w, Collectors.counting()));
        // end
        all.add(counts);
      }
      assertThat(Flux.merge(all).collectList().block(LIMIT))
          .containsExactlyInAnyOrder(Map.of("a", 2L, "c", 6L), Map.of("b", 4L));
    }
  }

  record Price(int article, double amount) {}

  @Test
  void codecs() {
    try (LciTestJob job = LciTestJob.start(2)) {
      // show: codec
      Codec<Price> prices =
          Codec.of(
              (price, out) -> out.putInt(price.article()).putDouble(price.amount()),
              in -> new Price(in.getInt(0), in.getDouble(4)));
      // end
      Price price = new Price(7, 2.5);
      job.rank(1).streams().publish("prices", Flux.just(price), prices);
      assertThat(job.rank(0).streams().subscribe(1, "prices", prices).blockLast(LIMIT))
          .isEqualTo(price);
    }
  }

  @Test
  void codecsElsewhere() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      LciRuntime peer = job.rank(1);
      Codec<Price> prices =
          Codec.of(
              (price, out) -> out.putInt(price.article()).putDouble(price.amount()),
              in -> new Price(in.getInt(0), in.getDouble(4)));
      Price price = new Price(7, 2.5);
      CallOptions options = CallOptions.defaults();
      // show: codec-elsewhere
      Flux<Price> heard = peer.inbox(PRICES).receive(prices);
      Mono<Void> told = lci.sender(PRICES).send(1, price, prices);
      RpcHandler twice = RpcHandler.response(prices, Codec.DOUBLE, p -> Mono.just(2 * p.amount()));
      Disposable serving = peer.rpc().serve("twice", twice);
      Mono<Double> answer =
          lci.rpc().requestResponse(1, "twice", price, prices, Codec.DOUBLE, options);
      // end
      assertThat(heard.next().zipWith(told.thenReturn(1)).block(LIMIT).getT1()).isEqualTo(price);
      assertThat(answer.block(LIMIT)).isEqualTo(5.0);
      serving.dispose();
    }
  }

  @Test
  void calls() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      LciRuntime peer = job.rank(1);
      // show: serve
      Map<String, String> store = new ConcurrentHashMap<>(Map.of("k", "v"));
      RpcHandler get =
          RpcHandler.response(
              request -> {
                String value = store.get(request.utf8());
                return value != null
                    ? Mono.just(Payload.ofUtf8(value))
                    : Mono.error(new RemoteException("no_such_key", request.utf8()));
              });
      Disposable serving = peer.rpc().serve("get", get);
      // end
      // show: call
      CallOptions second = CallOptions.builder().deadline(Duration.ofSeconds(1)).build();
      Mono<String> value =
          lci.rpc().requestResponse(1, "get", Payload.ofUtf8("k"), second).map(Message::utf8);
      // end
      assertThat(value.retry(9).block(LIMIT)).isEqualTo("v");
      // show: errors
      Mono<String> orElse =
          lci.rpc()
              .requestResponse(1, "get", Payload.ofUtf8("unknown"))
              .map(Message::utf8)
              .onErrorResume(
                  RemoteException.class,
                  e -> e.code().equals("no_such_key") ? Mono.just("nothing") : Mono.error(e))
              .onErrorMap(
                  e -> e instanceof PeerFailedException || e instanceof PeerLeftException,
                  e -> new IllegalStateException("rank " + ((LciException) e).rank() + " is gone"));
      // end
      assertThat(orElse.block(LIMIT)).isEqualTo("nothing");
      // show: handler
      RpcHandler log =
          new RpcHandler() {
            @Override
            public Mono<Void> fireAndForget(Message line) {
              return Mono.fromRunnable(() -> store.put("last", line.utf8()));
            }

            @Override
            public Flux<Payload> requestStream(Message prefix) {
              return Flux.fromIterable(store.keySet())
                  .filter(key -> key.startsWith(prefix.utf8()))
                  .map(Payload::ofUtf8);
            }

            @Override
            public Flux<Payload> requestChannel(int rank, Flux<Message> numbers) {
              return numbers.map(n -> Payload.ofLong(2 * n.getLong(0)));
            }
          };
      peer.rpc().serve("log", log);
      Mono<Void> sent = lci.rpc().fireAndForget(1, "log", Payload.ofUtf8("a line"));
      Flux<String> keys =
          lci.rpc().requestStream(1, "log", Payload.ofUtf8("la")).map(Message::utf8);
      Flux<Payload> numbers = Flux.range(1, 5).map(n -> Payload.ofLong(n));
      Flux<Long> doubled = lci.rpc().requestChannel(1, "log", numbers).map(m -> m.getLong(0));
      // end
      sent.block(LIMIT);
      await().atMost(LIMIT).until(() -> "a line".equals(store.get("last")));
      assertThat(keys.collectList().block(LIMIT)).containsExactly("last");
      assertThat(doubled.collectList().block(LIMIT)).containsExactly(2L, 4L, 6L, 8L, 10L);
      serving.dispose();
    }
  }

  @Test
  void limits() {
    // show: limits
    StreamLimits limits =
        StreamLimits.builder().streams(64).requests(4_096).itemBytes(1 << 20).build();
    LciOptions options = LciOptions.builder().streamLimits(limits).build();
    // end
    try (LciTestJob job = LciTestJob.start(1, options)) {
      assertThat(job.rank(0).options().streamLimits()).isEqualTo(limits);
    }
  }

  @Test
  void theGuideShowsWhatIsCompiledHere() throws IOException {
    GuidePage.assertShows("streams.md", StreamsGuideTest.class, 11);
  }
}
