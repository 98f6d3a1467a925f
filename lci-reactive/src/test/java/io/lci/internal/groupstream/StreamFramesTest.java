/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.groupstream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.lci.Codec;
import io.lci.Op;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.collective.CollectiveContext;
import io.lci.collective.StreamOptions;
import io.lci.error.LciException.Detail;
import io.lci.error.PeerLeftException;
import io.lci.error.ProtocolException;
import io.lci.internal.collective.StreamMembers;
import io.lci.internal.core.ReservedPorts;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Flux;
import reactor.test.publisher.TestPublisher;
import reactor.test.subscriber.TestSubscriber;

/** Frames that no honest member sends, and what comes at a wrong time. */
@ExtendWith(LciLeakCheck.class)
class StreamFramesTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final StreamOptions OPTIONS =
      StreamOptions.builder().windowItems(8).windowBytes(1_024).build();

  /** A context that no rank makes. */
  private static final long UNKNOWN = 12_345;

  private static void send(LciTestJob job, int from, byte[]... frames) {
    for (byte[] frame : frames) {
      job.rank(from).post(Op.am(0, ReservedPorts.GROUPS, Payload.of(frame)).tag(0)).block(LIMIT);
    }
  }

  private static long id(CollectiveContext context) {
    return ((StreamMembers) context).id();
  }

  private static byte[] open(OutFrame of) {
    return of.open(StreamKind.SHUFFLE, 0, 32, 4_096);
  }

  /** With another word somewhere. */
  private static byte[] with(byte[] frame, int at, int value) {
    ByteBuffer.wrap(frame).order(ByteOrder.LITTLE_ENDIAN).putInt(at, value);
    return frame;
  }

  private static byte[] items(OutFrame of, long first, int... lengths) {
    List<byte[]> items = new ArrayList<>();
    for (int length : lengths) {
      items.add(new byte[length]);
    }
    return of.items(first, items);
  }

  private static Arguments named(String name, Function<OutFrame, List<byte[]>> frames) {
    return Arguments.of(name, frames);
  }

  static Stream<Arguments> bad() {
    return Stream.of(
        named(
            "a length beyond the frame",
            f -> List.of(with(items(f, 0, 5), OutFrame.ITEMS_HEAD, Integer.MAX_VALUE))),
        named("a negative length", f -> List.of(with(items(f, 0, 5), OutFrame.ITEMS_HEAD, -5))),
        named("half a length", f -> List.of(Arrays.copyOf(items(f, 0, 0), 34))),
        named("bytes beyond the window", f -> List.of(items(f, 0, 600), items(f, 1, 600))),
        named("an item beyond the window", f -> List.of(items(f, 8, 1))),
        named("an item twice", f -> List.of(items(f, 3, 1), items(f, 3, 1))),
        named("an item behind the end", f -> List.of(f.end(2), items(f, 2, 1))),
        named("an end before the beginning", f -> List.of(f.end(-1))),
        named("an end before what came", f -> List.of(items(f, 1, 1), f.end(1))),
        named("two ends", f -> List.of(f.end(3), f.end(3))),
        named("credit for items that were not sent", f -> List.of(f.credit(1, 0))),
        named("credit for bytes that were not sent", f -> List.of(f.credit(0, 1))),
        named("credit for ever", f -> List.of(f.credit(Long.MAX_VALUE, Long.MAX_VALUE))),
        named("negative credit", f -> List.of(f.credit(-1, 0))),
        named("no window", f -> List.of(f.open(StreamKind.SHUFFLE, 0, 0, 4_096))),
        named(
            "a window without end",
            f -> List.of(f.open(StreamKind.SHUFFLE, 0, Integer.MAX_VALUE, 4_096))),
        named("no bytes", f -> List.of(f.open(StreamKind.SHUFFLE, 0, 32, 0))),
        named(
            "bytes without end",
            f -> List.of(f.open(StreamKind.SHUFFLE, 0, 32, Integer.MAX_VALUE))),
        named("two openings", f -> List.of(open(f), open(f))),
        named("one leaves a shuffle", f -> List.of(open(f), f.detach())),
        named("an unknown type", f -> List.of(with(f.detach(), 0, 99))),
        named("another member", f -> List.of(with(open(f), 4, 0))),
        named("no member", f -> List.of(with(open(f), 4, 7))));
  }

  // Proves: J25
  // On: inproc
  @ParameterizedTest(name = "{0}")
  @MethodSource("bad")
  void whatMakesNoSenseEndsTheStream(String name, Function<OutFrame, List<byte[]>> frames) {
    try (LciTestJob job = LciTestJob.start(2)) {
      job.rank(1).world().streams();
      CollectiveContext context = job.rank(0).world().context(1);
      TestSubscriber<byte[]> one = TestSubscriber.builder().initialRequest(1).build();
      TestPublisher<byte[]> source = TestPublisher.create();
      context.streams().shuffle(source, n -> 0, Codec.BYTES, OPTIONS).subscribe(one);
      await().atMost(LIMIT).untilAsserted(source::assertWasRequested);
      source.next(new byte[0]); // its demand is gone
      await().atMost(LIMIT).until(() -> one.getReceivedOnNext().size() == 1);
      send(job, 1, frames.apply(new OutFrame(1, id(context), 0)).toArray(byte[][]::new));
      await().atMost(LIMIT).until(one::isTerminatedError);
      assertThat(one.expectTerminalError())
          .isInstanceOfSatisfying(ProtocolException.class, e -> assertThat(e.rank()).isEqualTo(1));
      source.assertCancelled();
    }
  }

  private static int waiting(Hub hub) {
    CompletableFuture<Integer> number = new CompletableFuture<>();
    hub.loop.execute(() -> number.complete(hub.waiting()));
    return number.join();
  }

  private static Hub hub(CollectiveContext context) {
    return ((GroupStreamsImpl) context.streams()).hub;
  }

  /** The answers to what a rank says come behind that. */
  @Test
  void answersToNothingAreNotKept() {
    try (LciTestJob job = LciTestJob.start(2)) {
      Hub hub = hub(job.rank(0).world().context(1));
      OutFrame of = new OutFrame(1, UNKNOWN, 5);
      send(job, 1, of.credit(1, 1), items(of, 0, 1), of.end(1), open(of));
      await().atMost(LIMIT).until(() -> waiting(hub) > 0);
      assertThat(waiting(hub)).isEqualTo(1);
    }
  }

  @Test
  void whatComesForAContextThatIsGoneIsNotKept() {
    try (LciTestJob job = LciTestJob.start(2)) {
      CollectiveContext context = job.rank(0).world().context(1);
      Hub hub = hub(context);
      OutFrame next = new OutFrame(1, id(context), 1);
      TestSubscriber<Integer> one = TestSubscriber.create();
      context.streams().shuffle(Flux.never(), n -> 0, Codec.INT).subscribe(one);
      send(job, 1, open(next));
      await().atMost(LIMIT).until(() -> waiting(hub) == 1);
      one.cancel();
      context.dispose();
      await().atMost(LIMIT).until(() -> waiting(hub) == 0);
      send(job, 1, open(next), next.detach());
      send(job, 1, open(new OutFrame(1, UNKNOWN, 0)));
      await().atMost(LIMIT).until(() -> waiting(hub) > 0);
      assertThat(waiting(hub)).isEqualTo(1);
    }
  }

  @Test
  void aRankIsAheadBySoMuch() {
    EarlyFrames early = new EarlyFrames(2);
    for (int i = 0; i < EarlyFrames.MOST; i++) {
      early.add(new InFrame(new Message(1, 0, open(new OutFrame(1, i % 2, i / 2)))));
    }
    InFrame more = new InFrame(new Message(1, 0, open(new OutFrame(1, 0, 1))));
    assertThatThrownBy(() -> early.add(more)).isInstanceOf(IllegalStateException.class);
    early.add(new InFrame(new Message(0, 0, open(new OutFrame(0, 0, 1)))));
    assertThat(early.take(0, 1)).extracting(InFrame::rank).containsExactly(1, 0);
    assertThat(early.take(0, 1)).isEmpty();
    early.add(more);
    early.forget(0);
    assertThat(early.size()).isEqualTo(EarlyFrames.MOST / 2);
    early.forget(1);
    assertThat(early.size()).isZero();
  }

  @Test
  void aStreamOfNoNumberIsNone() {
    try (LciTestJob job = LciTestJob.start(2)) {
      CollectiveContext context = job.rank(0).world().context(1);
      Hub hub = hub(context);
      send(job, 1, open(new OutFrame(1, id(context), -1)), open(new OutFrame(1, UNKNOWN, -1)));
      send(job, 1, open(new OutFrame(1, UNKNOWN, 0)));
      await().atMost(LIMIT).until(() -> waiting(hub) > 0);
      assertThat(waiting(hub)).isEqualTo(1);
    }
  }

  /** A frame has left once, and may be lost behind that. */
  @Test
  void aFrameMayFailWhenItHasLeft() {
    List<String> told = new ArrayList<>();
    PeerLeftException reason = new PeerLeftException(Detail.of("test", "error_peer_left", "left"));
    Courier.Leaving accepted = new Courier.Leaving(() -> told.add("left"), e -> told.add("failed"));
    accepted.left();
    accepted.failed(reason);
    assertThat(told).containsExactly("left", "failed");
    told.clear();
    new Courier.Leaving(() -> told.add("left"), e -> told.add("failed")).failed(reason);
    assertThat(told).containsExactly("left", "failed");
  }
}
