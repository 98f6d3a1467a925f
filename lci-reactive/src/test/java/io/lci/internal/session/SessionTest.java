/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.Codec;
import io.lci.LciOptions;
import io.lci.PeerEvent;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.error.LciException;
import io.lci.error.NoSuchFunctionException;
import io.lci.error.NoSuchStreamException;
import io.lci.error.PeerLeftException;
import io.lci.error.ProtocolException;
import io.lci.error.ResourceExhaustedException;
import io.lci.internal.session.FakeNet.Packet;
import io.lci.internal.session.OutFrame.Open;
import io.lci.internal.session.OutFrame.Part;
import io.lci.rpc.RpcHandler;
import io.lci.stream.StreamLimits;
import io.lci.stream.SubscribeOptions;
import io.lci.testing.LciLeakCheck;
import java.lang.reflect.Field;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.core.publisher.Sinks;
import reactor.test.publisher.TestPublisher;

/** Order, demand, turns, limits and hostile peers, over messages that the test delivers. */
@ExtendWith(LciLeakCheck.class)
class SessionTest {
  private static final int[] SIZES = {0, 1, 100, 2_000, 2_100, 9_000, 40_000};

  private static LciOptions limits(StreamLimits limits) {
    return LciOptions.builder().streamLimits(limits).build();
  }

  private static byte[] item(int stream, int index) {
    byte[] bytes = new byte[SIZES[(stream + index) % SIZES.length]];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) (stream * 31 + index * 7 + i);
    }
    return bytes;
  }

  // Proves: Y3
  // On: inproc
  @ParameterizedTest(name = "seed {0}")
  @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
  void itemsKeepTheirOrderWhateverTheOrderOfMessages(int seed) {
    FakeNet net =
        new FakeNet(
            2, limits(StreamLimits.builder().reassemblyBytes(50_000).build()), new Random(seed));
    List<Heard<byte[]>> all = new ArrayList<>();
    int count = 300;
    for (int stream = 0; stream < 4; stream++) {
      int number = stream;
      net.rank(1)
          .publish("s" + stream, Flux.range(0, count).map(i -> item(number, i)), Codec.BYTES);
      Heard<byte[]> heard = new Heard<>(Long.MAX_VALUE);
      Flux<byte[]> flux = net.rank(0).subscribe(1, "s" + stream, Codec.BYTES);
      (stream % 2 == 0 ? flux : flux.limitRate(1 + stream)).subscribe(heard);
      all.add(heard);
    }
    int most = 0;
    while (net.step()) {
      most = Math.max(most, (int) net.rank(0).session(1).room().used());
    }
    for (int stream = 0; stream < 4; stream++) {
      Heard<byte[]> heard = all.get(stream);
      assertThat(heard.error).isNull();
      assertThat(heard.completed).isTrue();
      assertThat(heard.items).hasSize(count);
      for (int i = 0; i < count; i++) {
        assertThat(heard.items.get(i)).isEqualTo(item(stream, i));
      }
    }
    assertThat(most).isBetween(40_000, 50_000);
    assertThat(net.rank(0).session(1).room().used()).isZero();
    assertThat(net.open(0) + net.open(1)).isZero();
  }

  /**
   * More frames than the session's window, in one direction alone: only acknowledgements let them
   * go.
   */
  @Test
  void anItemOfManyFramesGoesOnWithTheAcknowledgements() {
    FakeNet net = new FakeNet(2);
    byte[] item = new byte[3 * Session.WINDOW * 2_048];
    net.rank(1).publish("s", Flux.just(item), Codec.BYTES);
    Heard<byte[]> heard = new Heard<>(1);
    net.rank(0).subscribe(1, "s", Codec.BYTES).subscribe(heard);
    net.run();
    assertThat(heard.items).hasSize(1);
    assertThat(heard.items.get(0)).hasSize(item.length);
    assertThat(net.sent).filteredOn(p -> p.type() == FrameType.ACK).hasSizeBetween(8, 24);
  }

  // Proves: Y2
  // On: inproc
  @Test
  void thePublishedFluxSeesExactlyTheDemand() {
    FakeNet net = new FakeNet(2);
    TestPublisher<Integer> source = TestPublisher.create();
    net.rank(1).publish("s", source, Codec.INT);
    Heard<Integer> heard = new Heard<>(0);
    net.rank(0).subscribe(1, "s", Codec.INT).subscribe(heard);
    net.run();
    assertThat(net.sent).isEmpty();
    heard.request(3);
    net.run();
    source.assertMinRequested(3).assertMaxRequested(3);
    source.next(1, 2, 3);
    net.run();
    assertThat(heard.items).containsExactly(1, 2, 3);
    heard.request(2);
    heard.request(1);
    net.run();
    source.assertMinRequested(3).assertMaxRequested(3);
    source.next(4, 5, 6).complete();
    net.run();
    assertThat(heard.items).containsExactly(1, 2, 3, 4, 5, 6);
    assertThat(heard.completed).isTrue();
    source.assertNoRequestOverflow();
  }

  @Test
  void unboundedDemandMeansAWindow() {
    FakeNet net = new FakeNet(2);
    TestPublisher<Integer> source = TestPublisher.create();
    net.rank(1).publish("s", source, Codec.INT);
    Heard<Integer> heard = new Heard<>(Long.MAX_VALUE);
    net.rank(0).subscribe(1, "s", Codec.INT).subscribe(heard);
    net.run();
    source.assertMinRequested(StreamLimits.WINDOW).assertMaxRequested(StreamLimits.WINDOW);
    for (int i = 0; i < 10 * StreamLimits.WINDOW; i++) {
      source.next(i);
      net.run();
    }
    source.assertMaxRequested(StreamLimits.WINDOW);
    assertThat(heard.items).hasSize(10 * StreamLimits.WINDOW);
    heard.cancel();
    net.run();
    source.assertCancelled();
  }

  /** A source that breaks the rules ends its stream, and nothing else. */
  @Test
  void aSourceThatOverflowsEndsItsStream() {
    FakeNet net = new FakeNet(2);
    TestPublisher<Integer> source =
        TestPublisher.createNoncompliant(TestPublisher.Violation.REQUEST_OVERFLOW);
    net.rank(1).publish("s", source, Codec.INT);
    Heard<Integer> heard = new Heard<>(2);
    net.rank(0).subscribe(1, "s", Codec.INT).subscribe(heard);
    net.run();
    source.next(1, 2, 3);
    net.run();
    assertThat(heard.items).containsExactly(1, 2);
    assertThat(heard.error).isInstanceOf(LciException.class).hasMessageContaining("requested");
    source.assertCancelled();
    assertThat(net.open(0) + net.open(1)).isZero();
  }

  // Proves: Y5
  // On: inproc
  @Test
  void streamsOfAPairTakeTurns() {
    FakeNet net = new FakeNet(2);
    int streams = 5;
    List<Heard<byte[]>> all = new ArrayList<>();
    for (int i = 0; i < streams; i++) {
      byte[] item = new byte[i == 0 ? 30_000 : 10]; // one has items of many frames
      net.rank(1).publish("s" + i, Flux.range(0, 2_000).map(n -> item), Codec.BYTES);
      all.add(new Heard<>(Long.MAX_VALUE));
    }
    for (int i = 0; i < streams; i++) {
      net.rank(0).subscribe(1, "s" + i, Codec.BYTES).subscribe(all.get(i));
    }
    Heard<byte[]> idle = new Heard<>(1); // asks for one, and no more
    net.rank(0).subscribe(1, "s1", Codec.BYTES).subscribe(idle);
    int[] counts = new int[streams];
    int looked = 0;
    while (all.get(1).items.size() < 1_500 && net.step()) {
      for (; looked < net.sent.size(); looked++) {
        Packet packet = net.sent.get(looked);
        if (packet.from() == 1 && packet.type() == FrameType.DATA && packet.exchange() <= streams) {
          counts[(int) packet.exchange() - 1]++;
        }
      }
      if (all.get(4).items.size() > 300) { // all are under way, and nobody is done
        int least = IntStream.range(1, streams).map(i -> counts[i]).min().orElseThrow();
        int most = IntStream.range(1, streams).map(i -> counts[i]).max().orElseThrow();
        // They began one after the other, a window of credit apart at most; no more comes to it
        assertThat(most - least).isLessThanOrEqualTo(StreamLimits.WINDOW);
      }
    }
    assertThat(counts[0])
        .isGreaterThan(200); // it waits for room before each item, and gets its turns
    assertThat(idle.items).hasSize(1);
    all.forEach(Heard::cancel);
    idle.cancel();
    net.run();
    assertThat(net.open(0) + net.open(1)).isZero();
  }

  /** Turns are counted at the wire: with the same credit the frames alternate. */
  @Test
  void framesAlternate() {
    FakeNet net = new FakeNet(2);
    Sinks.Empty<Void> gate = Sinks.empty();
    List<Heard<Integer>> all = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      net.rank(1).publish("s" + i, Flux.range(0, 100).delaySubscription(gate.asMono()), Codec.INT);
      all.add(new Heard<>(Long.MAX_VALUE));
      net.rank(0).subscribe(1, "s" + i, Codec.INT).subscribe(all.get(i));
    }
    net.run();
    gate.tryEmitEmpty(); // all have all their items now
    net.run();
    List<Long> order =
        net.sent.stream()
            .filter(p -> p.from() == 1 && p.type() == FrameType.DATA)
            .map(Packet::exchange)
            .toList();
    assertThat(order).hasSize(400);
    for (int turn = 0; turn < 100; turn++) {
      assertThat(order.subList(4 * turn, 4 * turn + 4)).containsExactlyInAnyOrder(1L, 2L, 3L, 4L);
    }
  }

  @Test
  void aFullDestinationStopsItsSourcesAndNoOthers() {
    FakeNet net = new FakeNet(3);
    List<Integer> made = new ArrayList<>();
    net.rank(1).publish("s", Flux.range(0, 100_000).doOnNext(made::add), Codec.INT);
    Heard<Integer> slow = new Heard<>(Long.MAX_VALUE);
    Heard<Integer> fast = new Heard<>(Long.MAX_VALUE);
    net.rank(0).subscribe(1, "s", Codec.INT).subscribe(slow);
    net.steps(5);
    net.full.add(0);
    int before = made.size();
    net.run();
    assertThat(made.size() - before).isLessThanOrEqualTo(2 * StreamLimits.WINDOW + 64);
    net.rank(2).subscribe(1, "s", Codec.INT).take(5_000).subscribe(fast);
    net.run();
    assertThat(fast.items).hasSize(5_000);
    net.full.clear();
    net.run();
    assertThat(slow.items).hasSize(100_000);
  }

  // Limits

  // Proves: Y7
  // On: inproc
  @Test
  void streamsPerPeerAreBounded() {
    FakeNet net = new FakeNet(3, limits(StreamLimits.builder().streams(2).build()), null);
    for (int rank = 1; rank <= 2; rank++) {
      net.rank(rank).publish("s", Flux.never(), Codec.INT);
    }
    List<Heard<Integer>> all = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      all.add(new Heard<>(1));
      net.rank(0).subscribe(1, "s", Codec.INT).subscribe(all.get(i));
      net.run();
    }
    assertThat(all.get(0).hasEnded() || all.get(1).hasEnded()).isFalse();
    assertThat(all.get(2).error)
        .isInstanceOf(ResourceExhaustedException.class)
        .hasMessageContaining("2 streams with rank 1");
    Heard<Integer> elsewhere = new Heard<>(1);
    net.rank(0).subscribe(2, "s", Codec.INT).subscribe(elsewhere);
    net.run();
    assertThat(elsewhere.hasEnded()).isFalse();
    all.get(0).cancel();
    Heard<Integer> again = new Heard<>(1);
    net.rank(0).subscribe(1, "s", Codec.INT).subscribe(again);
    net.run();
    assertThat(again.hasEnded()).isFalse();
  }

  /** The rank that serves has its own limit, whatever the peer believes. */
  @Test
  void whatAPeerOpensIsBoundedToo() {
    FakeNet net = new FakeNet(2, limits(StreamLimits.builder().streams(2).build()), null);
    net.rank(0).publish("s", Flux.never(), Codec.INT);
    for (int id = 1; id <= 3; id++) {
      inject(
          net,
          id,
          OutFrame.open(id, new Open(Kind.STREAM, new byte[] {'s'}, new byte[0], 0), 1, null));
    }
    Packet refusal = net.packets.get(net.packets.size() - 1);
    assertThat(net.packets).extracting(Packet::type).containsExactly(FrameType.ERROR);
    assertThat(refusal.exchange()).isEqualTo(3);
    assertThat(net.open(0)).isEqualTo(2);
  }

  @Test
  void requestsWaitForAPlaceAndNoMoreThanTheLimit() {
    FakeNet net =
        new FakeNet(2, limits(StreamLimits.builder().requests(2).waiting(1).build()), null);
    List<Sinks.One<Payload>> answers = new ArrayList<>();
    net.rank(1)
        .serve(
            "f",
            RpcHandler.response(
                m -> {
                  answers.add(Sinks.one());
                  return answers.get(answers.size() - 1).asMono();
                }));
    List<Heard<Message>> all = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      all.add(new Heard<>(1));
      net.rank(0).requestResponse(1, "f", Payload.ofInt(i)).subscribe(all.get(i));
    }
    net.run();
    assertThat(answers).hasSize(2);
    assertThat(all.get(3).error)
        .isInstanceOf(ResourceExhaustedException.class)
        .hasMessageContaining("1 requests that wait");
    answers.get(1).tryEmitValue(Payload.ofInt(1));
    net.run();
    assertThat(all.get(1).items).hasSize(1);
    assertThat(answers).hasSize(3);
    answers.get(0).tryEmitValue(Payload.ofInt(0));
    answers.get(2).tryEmitValue(Payload.ofInt(2));
    net.run();
    assertThat(all.get(0).completed && all.get(2).completed).isTrue();
    assertThat(net.open(0) + net.open(1)).isZero();
  }

  @Test
  void namesAreBounded() {
    FakeNet net = new FakeNet(2);
    String longest = "ñ".repeat(127) + "a";
    net.rank(1).publish(longest, Flux.just(7), Codec.INT);
    Heard<Integer> heard = new Heard<>(1);
    net.rank(0).subscribe(1, longest, Codec.INT).subscribe(heard);
    net.run();
    assertThat(heard.items).containsExactly(7);
    for (String wrong : List.of("", longest + "a")) {
      assertThatThrownBy(() -> net.rank(0).subscribe(1, wrong, Codec.INT))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("1 to 255 bytes");
      assertThatThrownBy(() -> net.rank(1).publish(wrong, Flux.never(), Codec.INT))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> net.rank(1).serve(wrong, new RpcHandler() {}))
          .isInstanceOf(IllegalArgumentException.class);
    }
    assertThatThrownBy(() -> net.rank(1).publish(longest, Flux.never(), Codec.INT))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("already");
    assertThatThrownBy(() -> net.rank(0).subscribe(2, "s", Codec.INT))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void itemsAreBounded() {
    FakeNet net = new FakeNet(2, limits(StreamLimits.builder().itemBytes(5_000).build()), null);
    net.rank(1).publish("s", Flux.just(5_000, 5_001, 1).map(size -> new byte[size]), Codec.BYTES);
    net.rank(1).serve("f", RpcHandler.response(m -> Mono.just(Payload.of(new byte[5_001]))));
    Heard<byte[]> heard = new Heard<>(9);
    net.rank(0).subscribe(1, "s", Codec.BYTES).subscribe(heard);
    Heard<Message> answer = new Heard<>(9);
    net.rank(0).requestResponse(1, "f", Payload.empty()).subscribe(answer);
    Heard<Message> tooLong = new Heard<>(9);
    net.rank(0).requestResponse(1, "f", Payload.of(new byte[5_001])).subscribe(tooLong);
    net.run();
    assertThat(heard.items).hasSize(1);
    for (Heard<?> each : List.of(heard, answer, tooLong)) {
      assertThat(each.error)
          .isInstanceOf(ResourceExhaustedException.class)
          .hasMessageContaining("5000 bytes");
    }
    // A peer with a larger limit
    Heard<byte[]> other = new Heard<>(9);
    net.rank(1).publish("never", Flux.never(), Codec.BYTES);
    net.rank(0).subscribe(1, "never", Codec.BYTES).subscribe(other);
    net.run();
    long next =
        net.sent.stream().filter(p -> p.from() == 1).mapToLong(Packet::tag).max().orElse(0) + 1;
    inject(net, next, OutFrame.data(3, 0, new Part(0, 5_001, 1, new byte[8], 0, 8)));
    assertThat(other.error)
        .isInstanceOf(ResourceExhaustedException.class)
        .hasMessageContaining("the limit is 5000");
  }

  // Names

  @Test
  void anUnknownNameIsAnErrorAtOnceOrAfterAWhile() {
    FakeNet net = new FakeNet(2);
    Heard<Integer> atOnce = new Heard<>(1);
    net.rank(0).subscribe(1, "s", Codec.INT).subscribe(atOnce);
    Heard<Integer> waits = new Heard<>(1);
    SubscribeOptions minute =
        SubscribeOptions.builder().awaitPublisher(Duration.ofMinutes(1)).build();
    net.rank(0).subscribe(1, "s", Codec.INT, minute).subscribe(waits);
    net.run();
    assertThat(atOnce.error)
        .isInstanceOf(NoSuchStreamException.class)
        .hasMessageContaining("rank 1 publishes no stream \"s\"");
    net.clock.advanceTimeBy(Duration.ofSeconds(59));
    net.run();
    assertThat(waits.hasEnded()).isFalse();
    net.clock.advanceTimeBy(Duration.ofSeconds(1));
    net.run();
    assertThat(waits.error)
        .isInstanceOf(NoSuchStreamException.class)
        .hasMessageContaining("60000 ms");
    assertThat(net.open(0) + net.open(1)).isZero();
  }

  // Proves: Y1
  // On: inproc
  @Test
  void aLatePublisherIsFoundByAllWhoWait() {
    FakeNet net = new FakeNet(2);
    SubscribeOptions minute =
        SubscribeOptions.builder().awaitPublisher(Duration.ofMinutes(1)).build();
    Flux<Integer> stream = net.rank(0).subscribe(1, "s", Codec.INT, minute);
    Heard<Integer> first = new Heard<>(9);
    Heard<Integer> second = new Heard<>(1);
    Heard<Integer> leaves = new Heard<>(1);
    stream.subscribe(first);
    stream.subscribe(second);
    stream.subscribe(leaves);
    net.run();
    second.request(1); // while it waits
    leaves.cancel();
    net.run();
    List<String> subscribed = new ArrayList<>();
    var published =
        net.rank(1)
            .publish(
                "s",
                Flux.defer(
                    () -> {
                      subscribed.add("subscribed");
                      return Flux.range(0, 3);
                    }),
                Codec.INT);
    net.run();
    assertThat(first.items).containsExactly(0, 1, 2);
    assertThat(second.items).containsExactly(0, 1);
    assertThat(subscribed).hasSize(2);
    Heard<Integer> again = new Heard<>(9);
    stream.subscribe(again);
    net.run();
    assertThat(again.items).containsExactly(0, 1, 2);
    published.dispose();
    Heard<Integer> late = new Heard<>(9);
    net.rank(0).subscribe(1, "s", Codec.INT).subscribe(late);
    second.request(1);
    net.run();
    assertThat(late.error).isInstanceOf(NoSuchStreamException.class);
    assertThat(second.items).containsExactly(0, 1, 2); // who is there goes on
    net.clock.advanceTimeBy(Duration.ofMinutes(2));
    net.run();
    assertThat(net.open(0) + net.open(1)).isZero();
  }

  @Test
  void anUnknownFunctionIsATypedError() {
    FakeNet net = new FakeNet(2);
    var serving = net.rank(1).serve("f", RpcHandler.response(m -> Mono.empty()));
    Heard<Message> unknown = new Heard<>(1);
    net.rank(0).requestResponse(1, "g", Payload.empty()).subscribe(unknown);
    Heard<Message> otherwise = new Heard<>(1);
    net.rank(0).requestStream(1, "f", Payload.empty()).subscribe(otherwise);
    Heard<Message> empty = new Heard<>(1);
    net.rank(0).requestResponse(1, "f", Payload.empty()).subscribe(empty);
    net.run();
    assertThat(unknown.error).isInstanceOf(NoSuchFunctionException.class);
    assertThat(otherwise.error)
        .isInstanceOf(NoSuchFunctionException.class)
        .hasMessageContaining("\"f\" as request-stream");
    assertThat(empty.completed).isTrue();
    serving.dispose();
    Heard<Message> gone = new Heard<>(1);
    net.rank(0).requestResponse(1, "f", Payload.empty()).subscribe(gone);
    net.run();
    assertThat(gone.error).isInstanceOf(NoSuchFunctionException.class);
  }

  // Hostile peers

  private static void inject(FakeNet net, long number, OutFrame frame) {
    FakeNet.Recorder out = new FakeNet.Recorder();
    frame.numbered(number, 0).writeTo(out);
    net.inject(1, 0, out.tag, out.bytes.toByteArray());
  }

  @ParameterizedTest(name = "{0}")
  @ValueSource(
      strings = {"no frame", "twice", "too far", "unknown exchange", "acknowledgement", "old open"})
  void whatMakesNoSenseEndsTheSessionOnBothSides(String what) {
    FakeNet net = new FakeNet(2);
    net.rank(1).publish("s", Flux.never(), Codec.INT);
    net.rank(0).publish("t", Flux.never(), Codec.INT);
    Heard<Integer> mine = new Heard<>(1);
    Heard<Integer> theirs = new Heard<>(1);
    net.rank(0).subscribe(1, "s", Codec.INT).subscribe(mine);
    net.rank(1).subscribe(0, "t", Codec.INT).subscribe(theirs);
    net.run();
    Open stream = new Open(Kind.STREAM, new byte[] {'t'}, new byte[0], 0);
    switch (what) {
      case "no frame" -> net.inject(1, 0, 2, new byte[] {99});
      case "twice" -> inject(net, 1, OutFrame.cancel(1, 0));
      case "too far" -> inject(net, 2 + Session.WINDOW, OutFrame.cancel(1, 0));
      case "unknown exchange" -> inject(net, 2, OutFrame.cancel(9, 0));
      case "old open" -> inject(net, 2, OutFrame.open(1, stream, 1, null));
      default -> {
        FakeNet.Recorder out = new FakeNet.Recorder();
        OutFrame.ack().numbered(0, 1_000).writeTo(out);
        net.inject(1, 0, out.tag, out.bytes.toByteArray());
      }
    }
    net.run();
    assertThat(mine.error)
        .isInstanceOfSatisfying(
            ProtocolException.class,
            e -> {
              assertThat(e.rank()).isEqualTo(1);
              assertThat(e).hasMessageStartingWith("stream \"s\" rank 1");
            });
    assertThat(theirs.error)
        .isInstanceOfSatisfying(ProtocolException.class, e -> assertThat(e.rank()).isZero());
    assertThat(net.open(0) + net.open(1)).isZero();
    assertThat(net.counter(0, "link_violations")).isEqualTo(1);
    Heard<Integer> later = new Heard<>(1);
    net.rank(0).subscribe(1, "s", Codec.INT).subscribe(later);
    net.run();
    assertThat(later.error).isInstanceOf(ProtocolException.class);
  }

  /** Frames as random as they come: nothing but typed ends, and no exchange stays. */
  @ParameterizedTest(name = "seed {0}")
  @ValueSource(ints = {1, 2, 3, 4, 5})
  void randomFramesEndInTypedErrors(int seed) {
    Random random = new Random(seed);
    for (int round = 0; round < 60; round++) {
      FakeNet net = new FakeNet(2);
      net.rank(0).publish("t", Flux.range(0, 1_000), Codec.INT);
      net.rank(0).serve("f", RpcHandler.channel(requests -> requests.map(m -> Payload.ofInt(1))));
      Heard<Message> heard = new Heard<>(5);
      net.rank(0).requestChannel(1, "f", Flux.just(Payload.ofInt(1))).subscribe(heard);
      net.settle();
      net.packets.clear();
      for (int number = 1; number < 40; number++) {
        inject(net, number, randomFrame(random));
        net.packets.clear();
      }
      net.die(1, PeerEvent.State.LEFT);
      net.settle();
      assertThat(heard.hasEnded()).isTrue();
      if (heard.error != null) {
        assertThat(heard.error).isInstanceOf(LciException.class);
      }
      assertThat(net.open(0)).isZero();
      assertThat(net.rank(0).session(1).room().used()).isZero();
    }
  }

  private static OutFrame randomFrame(Random random) {
    long id = 1 + random.nextInt(3);
    int side = random.nextBoolean() ? InFrame.OPENER : 0;
    Kind kind = Kind.values()[random.nextInt(5)];
    byte[] name = {(byte) (random.nextBoolean() ? 't' : 'f')};
    int last = random.nextBoolean() ? InFrame.LAST : 0;
    int size = 1 + random.nextInt(20);
    int total = random.nextInt(4) == 0 ? 5_000 : size;
    return switch (random.nextInt(7)) {
      case 0 -> OutFrame.open(id, new Open(kind, name, new byte[0], 0), random.nextInt(9), null);
      case 1 ->
          OutFrame.data(
              id, side, new Part(last, total, random.nextInt(3), new byte[size], 0, size));
      case 2 ->
          OutFrame.data(
              id,
              side,
              new Part(last | InFrame.CONTINUED, 0, random.nextInt(3), new byte[size], 0, size));
      case 3 -> OutFrame.complete(id, side, random.nextInt(3));
      case 4 -> OutFrame.error(id, side, 0, WireError.of("c", "m"));
      case 5 -> OutFrame.cancel(id, side);
      default -> OutFrame.credit(id, side, 1 + random.nextInt(9), random.nextBoolean());
    };
  }

  @Test
  void whatWasSentBeforeADepartureComesFirst() {
    FakeNet net = new FakeNet(2);
    net.rank(1).publish("s", Flux.range(0, 5), Codec.INT);
    net.rank(1).publish("open", Flux.never(), Codec.INT);
    Heard<Integer> heard = new Heard<>(9);
    Heard<Integer> open = new Heard<>(9);
    net.rank(0).subscribe(1, "s", Codec.INT).subscribe(heard);
    net.rank(0).subscribe(1, "open", Codec.INT).subscribe(open);
    net.runUntil(p -> p.from() == 1 && p.has(InFrame.LAST));
    net.die(1, PeerEvent.State.LEFT); // its messages lie in the inbox
    assertThat(heard.hasEnded() || open.hasEnded()).isFalse();
    net.run();
    assertThat(heard.items).containsExactly(0, 1, 2, 3, 4);
    assertThat(heard.completed).isTrue();
    assertThat(open.error).isInstanceOf(PeerLeftException.class);
    Heard<Integer> later = new Heard<>(9);
    net.rank(0).subscribe(1, "s", Codec.INT).subscribe(later);
    net.run();
    assertThat(later.error).isInstanceOf(PeerLeftException.class);
  }

  /** A Mono whose signals the test gives. */
  private static final class Hand extends Mono<Payload> {
    private CoreSubscriber<? super Payload> answer;

    @Override
    public void subscribe(CoreSubscriber<? super Payload> actual) {
      answer = actual;
      actual.onSubscribe(Operators.emptySubscription());
    }
  }

  /** The loop looks at the answer as soon as it is there, maybe before its thread has said more. */
  @Test
  void anOnlyAnswerIsTheLastHoweverItsThreadIsHeldUp() throws ReflectiveOperationException {
    FakeNet net = new FakeNet(2);
    Hand hand = new Hand();
    net.rank(1).serve("f", RpcHandler.response(m -> hand));
    Heard<Message> heard = new Heard<>(1);
    net.rank(0).requestResponse(1, "f", Payload.empty()).subscribe(heard);
    net.busy.add(1); // it is to hear of the subscription when the answer comes
    net.run();
    Field queue = Outbound.class.getDeclaredField("queue");
    queue.setAccessible(true);
    queue.set(
        hand.answer,
        new ArrayBlockingQueue<Payload>(1) {
          @Override
          public boolean offer(Payload value) {
            boolean taken = super.offer(value);
            net.busy.clear();
            net.settle();
            return taken;
          }
        });
    hand.answer.onNext(Payload.ofUtf8("answer"));
    hand.answer.onComplete();
    net.run();
    assertThat(heard.error).isNull();
    assertThat(heard.items).singleElement().extracting(Message::utf8).isEqualTo("answer");
    assertThat(net.open(0) + net.open(1)).isZero();
  }
}
