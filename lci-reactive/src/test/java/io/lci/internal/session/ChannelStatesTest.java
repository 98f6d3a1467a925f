/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.PeerEvent;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.error.PeerFailedException;
import io.lci.error.ProtocolException;
import io.lci.error.RemoteException;
import io.lci.internal.session.OutFrame.Open;
import io.lci.internal.session.OutFrame.Part;
import io.lci.internal.session.StateTable.Event;
import io.lci.internal.session.StateTable.State;
import io.lci.internal.session.StateTable.Verdict;
import io.lci.rpc.RpcHandler;
import io.lci.testing.LciLeakCheck;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.test.publisher.TestPublisher;

/**
 * Each cell of the table of request-channel, on the side that calls and on the side that serves.
 * The peer is the test, which writes its frames by hand.
 */
@ExtendWith(LciLeakCheck.class)
class ChannelStatesTest {
  private static final int PEER = 1;

  /** As docs/guide/streams.md calls the events: its columns. */
  private static final List<String> COLUMNS =
      List.of("State", "next", "complete", "error", "cancel", "peer death");

  @Test
  void theTableIsTheOneInTheGuide() throws IOException {
    Path page = Path.of(System.getProperty("lci.native.source"), "../docs/guide/streams.md");
    List<List<String>> shown =
        Files.readAllLines(page).stream()
            .dropWhile(line -> !line.startsWith("| State |"))
            .takeWhile(line -> line.startsWith("|"))
            .map(line -> Arrays.stream(line.substring(1).split("\\|")).map(String::strip).toList())
            .toList();
    List<List<String>> expected = new ArrayList<>();
    expected.add(COLUMNS);
    expected.add(COLUMNS.stream().map(column -> "---").toList());
    for (State state : State.values()) {
      List<String> row = new ArrayList<>(List.of(shown(state)));
      for (Event event : Event.values()) {
        row.add(shown(state, event));
      }
      expected.add(row);
    }
    assertThat(shown).isEqualTo(expected);
  }

  private static String shown(State state) {
    return state.name().toLowerCase(Locale.ROOT).replaceFirst("_", "-").replace('_', ' ');
  }

  /** What the guide says of a cell: the state after it, unless something else says more. */
  private static String shown(State state, Event event) {
    StateTable.Cell cell = StateTable.cell(state, event);
    return switch (cell.verdict()) {
      case IGNORE -> "ignored";
      case VIOLATION -> "`ProtocolException`";
      case TAKE -> event == Event.NEXT ? "delivered" : shown(cell.next());
    };
  }

  static Stream<Arguments> cells() {
    return Stream.of(true, false)
        .flatMap(
            opener ->
                Arrays.stream(State.values())
                    .flatMap(
                        state ->
                            Arrays.stream(Event.values())
                                .map(event -> Arguments.of(opener, state, event))));
  }

  // Proves: Y6
  // On: inproc
  @ParameterizedTest(name = "opener {0}, {1}, {2}")
  @MethodSource("cells")
  void eachCellDoesWhatTheTableSays(boolean opener, State state, Event event) {
    Side side = new Side(opener);
    side.bring(state);
    assertThat(side.net.open(0)).isEqualTo(state == State.CLOSED ? 0 : 1);
    boolean receivesBefore = state == State.OPEN || state == State.HALF_CLOSED_LOCAL;
    boolean sendsBefore = state == State.OPEN || state == State.HALF_CLOSED_REMOTE;
    int before = side.net.sent.size();

    side.happens(event);

    StateTable.Cell cell = StateTable.cell(state, event);
    assertThat(side.net.open(0)).isEqualTo(cell.next() == State.CLOSED ? 0 : 1);
    // What is received
    assertThat(side.heard.items)
        .hasSize(event == Event.NEXT && cell.verdict() == Verdict.TAKE ? 1 : 0);
    if (!receivesBefore || event == Event.COMPLETE) {
      assertThat(side.heard.completed).isTrue();
    } else if (event == Event.ERROR) {
      assertThat(side.heard.error)
          .isInstanceOfSatisfying(
              RemoteException.class,
              e -> {
                assertThat(e.code()).isEqualTo("no_such_key");
                assertThat(e.hint()).isEqualTo("key 7");
                assertThat(e.rank()).isEqualTo(PEER);
              });
    } else if (event == Event.PEER_DEATH) {
      assertThat(side.heard.error)
          .isInstanceOfSatisfying(
              PeerFailedException.class, e -> assertThat(e.rank()).isEqualTo(PEER));
    } else {
      assertThat(side.heard.hasEnded()).isFalse();
    }
    // What is sent
    boolean stops = sendsBefore && event != Event.NEXT && event != Event.COMPLETE;
    if (stops || (sendsBefore && cell.verdict() == Verdict.VIOLATION)) {
      side.source.assertCancelled();
    } else {
      side.source.assertNotCancelled();
    }
    List<FakeNet.Packet> answers = side.net.sent.subList(before, side.net.sent.size());
    if (cell.verdict() == Verdict.VIOLATION) {
      assertThat(answers).extracting(FakeNet.Packet::type).containsExactly(FrameType.ERROR);
      assertThat(side.net.counter(0, "link_violations")).isEqualTo(1);
    } else {
      assertThat(answers).extracting(FakeNet.Packet::type).doesNotContain(FrameType.ERROR);
      assertThat(side.net.counter(0, "link_violations")).isZero();
    }
    // The session lives on
    if (event != Event.PEER_DEATH) {
      side.another();
    }
  }

  @ParameterizedTest(name = "opener {0}")
  @org.junit.jupiter.params.provider.ValueSource(booleans = {true, false})
  void moreThanWasAskedForIsAViolation(boolean opener) {
    Side side = new Side(opener);
    side.bring(State.OPEN);
    for (int i = 0; i < Side.DEMAND; i++) {
      side.happens(Event.NEXT);
    }
    assertThat(side.heard.items).hasSize(Side.DEMAND);
    side.happens(Event.NEXT);
    assertThat(side.heard.items).hasSize(Side.DEMAND);
    assertThat(side.heard.error)
        .isInstanceOf(ProtocolException.class)
        .hasMessageContaining("nobody asked for");
    side.source.assertCancelled();
    assertThat(side.net.open(0)).isZero();
  }

  @ParameterizedTest(name = "opener {0}")
  @org.junit.jupiter.params.provider.ValueSource(booleans = {true, false})
  void aWrongCountIsAViolation(boolean opener) {
    Side side = new Side(opener);
    side.bring(State.OPEN);
    side.happens(Event.NEXT);
    side.send(OutFrame.complete(1, side.flag, 2));
    assertThat(side.heard.error)
        .isInstanceOf(ProtocolException.class)
        .hasMessageContaining("not 2");
    assertThat(side.net.open(0)).isZero();
  }

  /** Rank 0, with its exchange number 1. */
  private static final class Side {
    static final int DEMAND = 5;

    final FakeNet net = new FakeNet(2);
    final boolean opener;
    final int flag;
    final Heard<Message> heard = new Heard<>(DEMAND);
    final TestPublisher<Payload> source = TestPublisher.create();
    private long number;
    private long items;

    Side(boolean opener) {
      this.opener = opener;
      this.flag = opener ? 0 : InFrame.OPENER;
      net.rank(0)
          .serve(
              "f",
              new RpcHandler() {
                @Override
                public Publisher<? extends Payload> requestChannel(
                    int rank, Flux<Message> requests) {
                  requests.subscribe(heard);
                  return source;
                }
              });
      if (opener) {
        net.rank(0).requestChannel(PEER, "f", source).subscribe(heard);
        net.settle();
      } else {
        send(open(1));
      }
      send(OutFrame.credit(1, flag, 3, false));
    }

    private static OutFrame open(long id) {
      return OutFrame.open(id, new Open(Kind.CHANNEL, new byte[] {'f'}, new byte[0], 0), 1, null);
    }

    void send(OutFrame frame) {
      net.packets.clear(); // the test is the peer
      FakeNet.Recorder out = new FakeNet.Recorder();
      frame.numbered(++number, 0).writeTo(out);
      net.inject(PEER, 0, out.tag, out.bytes.toByteArray());
    }

    void bring(State state) {
      if (state == State.HALF_CLOSED_LOCAL || state == State.CLOSED) {
        source.complete();
        net.settle();
      }
      if (state == State.HALF_CLOSED_REMOTE || state == State.CLOSED) {
        send(OutFrame.complete(1, flag, 0));
      }
    }

    void happens(Event event) {
      switch (event) {
        case NEXT -> send(OutFrame.data(1, flag, new Part(0, 1, 1, new byte[] {7}, 0, 1)));
        case COMPLETE -> send(OutFrame.complete(1, flag, items));
        case ERROR ->
            send(OutFrame.error(1, flag, items, new WireError("no_such_key", "key 7", true)));
        case CANCEL -> send(OutFrame.cancel(1, flag));
        case PEER_DEATH -> net.die(PEER, PeerEvent.State.FAILED);
      }
    }

    /** Another exchange on the same session works. */
    void another() {
      Heard<Message> second = new Heard<>(1);
      net.rank(0).requestChannel(PEER, "g", Flux.never()).subscribe(second);
      net.settle();
      long id = opener ? 2 : 1;
      send(OutFrame.complete(id, 0, 0));
      assertThat(second.completed).isTrue();
    }
  }
}
