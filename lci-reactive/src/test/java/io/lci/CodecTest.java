/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.am.Inbox;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.error.RemoteException;
import io.lci.rpc.CallOptions;
import io.lci.rpc.Rpc;
import io.lci.rpc.RpcHandler;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** A codec is taken wherever items travel. */
@ExtendWith(LciLeakCheck.class)
class CodecTest {
  private static final Port PORT = Port.of(63, "codec");
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final CallOptions BOUNDED = CallOptions.builder().deadline(LIMIT).build();

  /** A text and its number, which travels as the tag. */
  record Line(long number, String text) {}

  private static final Codec<Line> LINES =
      Codec.of(
          (line, out) -> out.tag(line.number()).putUtf8(line.text()),
          in -> new Line(in.tag(), in.utf8()));

  private static final Codec<Line> BROKEN =
      Codec.of(
          (line, out) -> {
            throw new IllegalStateException("broken encoder");
          },
          in -> {
            throw new IllegalStateException("broken decoder");
          });

  private static <T> T both(Mono<T> received, Mono<Void> sent) {
    return received.zipWith(sent.thenReturn(1)).block(LIMIT).getT1();
  }

  /** In a descriptor, in a packet, and beyond one. */
  @ParameterizedTest
  @ValueSource(ints = {0, 100, 1_000, 300_000})
  void anItemIsSentAndReceived(int size) {
    try (LciTestJob job = LciTestJob.start(2)) {
      Line line = new Line(size + 1, "x".repeat(size));
      Mono<Line> received = job.rank(1).inbox(PORT).receive(LINES).next();
      assertThat(both(received, job.rank(0).sender(PORT).send(1, line, LINES))).isEqualTo(line);
    }
  }

  /** Each subscription sends the item as it is then. */
  @Test
  void everySubscriptionEncodes() {
    try (LciTestJob job = LciTestJob.start(2)) {
      AtomicReference<String> text = new AtomicReference<>("one");
      Inbox inbox = job.rank(1).inbox(PORT);
      Mono<Void> sent =
          job.rank(0).sender(PORT).send(1, text, (now, out) -> out.putUtf8(now.get()));
      assertThat(both(inbox.receive(Codec.UTF8).next(), sent)).isEqualTo("one");
      text.set("other");
      assertThat(both(inbox.receive(Codec.UTF8).next(), sent)).isEqualTo("other");
    }
  }

  @Test
  void manyItemsComeInBatches() {
    int count = 1_000;
    try (LciTestJob job = LciTestJob.start(2)) {
      Mono<List<Integer>> received =
          job.rank(1)
              .inbox(PORT)
              .receiveBatches(10, Codec.INT)
              .flatMapIterable(batch -> batch)
              .take(count)
              .sort()
              .collectList();
      Flux<Integer> items = Flux.range(0, count);
      Mono<Void> sent = job.rank(0).sender(PORT).sendAll(1, items, Codec.INT);
      assertThat(both(received, sent)).isEqualTo(items.collectList().block());
    }
  }

  @Test
  void anExceptionOfTheCodecIsTheError() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Line line = new Line(1, "line");
      assertThatThrownBy(() -> job.rank(0).sender(PORT).send(1, line, BROKEN).block(LIMIT))
          .hasMessageContaining("broken encoder");
      Mono<Line> received = job.rank(1).inbox(PORT).receive(BROKEN).next();
      Mono<Void> sent = job.rank(0).sender(PORT).send(1, line, LINES);
      assertThatThrownBy(() -> both(received, sent)).hasMessageContaining("broken decoder");
    }
  }

  @Test
  void callsTakeCodecs() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Rpc peer = job.rank(1).rpc();
      Rpc rpc = job.rank(0).rpc();
      AtomicReference<String> forgotten = new AtomicReference<>();
      peer.serve(
          "forget",
          RpcHandler.forget(Codec.UTF8, text -> Mono.fromRunnable(() -> forgotten.set(text))));
      peer.serve(
          "length", RpcHandler.response(Codec.UTF8, Codec.INT, text -> Mono.just(text.length())));
      peer.serve("range", RpcHandler.stream(Codec.INT, Codec.LONG, n -> longs(n)));
      peer.serve(
          "double",
          RpcHandler.channel(Codec.LONG, Codec.DOUBLE, numbers -> numbers.map(n -> 2.0 * n)));
      rpc.fireAndForget(1, "forget", "text", Codec.UTF8, BOUNDED).block(LIMIT);
      Mono<Integer> length =
          rpc.requestResponse(1, "length", "text", Codec.UTF8, Codec.INT, BOUNDED);
      assertThat(length.block(LIMIT)).isEqualTo(4);
      assertThat(forgotten).hasValue("text");
      Flux<Long> range = rpc.requestStream(1, "range", 3, Codec.INT, Codec.LONG, BOUNDED);
      assertThat(range.collectList().block(LIMIT)).containsExactly(0L, 1L, 2L);
      Flux<Double> doubled =
          rpc.requestChannel(1, "double", longs(3), Codec.LONG, Codec.DOUBLE, BOUNDED);
      assertThat(doubled.collectList().block(LIMIT)).containsExactly(0.0, 2.0, 4.0);
    }
  }

  private static Flux<Long> longs(int count) {
    return Flux.range(0, count).map(n -> (long) n);
  }

  @Test
  void anExceptionOfACodecEndsTheCall() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Rpc peer = job.rank(1).rpc();
      Rpc rpc = job.rank(0).rpc();
      peer.serve(
          "echo", RpcHandler.response(request -> Mono.just(Payload.of(request.toByteArray()))));
      peer.serve("broken", RpcHandler.response(BROKEN, Codec.INT, line -> Mono.just(1)));
      Codec<Integer> number = Codec.INT;
      Codec<Integer> cannotDecode =
          Codec.of(
              number,
              in -> {
                throw new IllegalStateException("broken decoder");
              });
      assertThatThrownBy(
              () -> rpc.requestResponse(1, "echo", 5, number, cannotDecode, BOUNDED).block(LIMIT))
          .hasMessageContaining("broken decoder");
      assertThatThrownBy(
              () -> rpc.requestResponse(1, "broken", 5, number, number, BOUNDED).block(LIMIT))
          .isInstanceOf(RemoteException.class)
          .hasMessageContaining("broken decoder");
      Line line = new Line(1, "line");
      assertThatThrownBy(
              () -> rpc.requestResponse(1, "echo", line, BROKEN, number, BOUNDED).block(LIMIT))
          .hasMessageContaining("broken encoder");
      assertThat(rpc.requestResponse(1, "echo", 5, number, number, BOUNDED).block(LIMIT))
          .isEqualTo(5);
    }
  }
}
