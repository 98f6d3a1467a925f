/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.Codec;
import io.lci.PeerEvent;
import io.lci.error.LciException;
import io.lci.error.LciException.Detail;
import io.lci.error.PeerFailedException;
import io.lci.error.PeerLeftException;
import io.lci.error.PortClosedException;
import io.lci.error.ProtocolException;
import io.lci.error.RemoteException;
import io.lci.error.ResourceExhaustedException;
import io.lci.testing.LciLeakCheck;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Flux;

/** What becomes of a session when frames cannot be sent any more. */
@ExtendWith(LciLeakCheck.class)
class SessionEndsTest {
  /** A rank that leaves closes its port before it is gone: sending to it fails first. */
  @Test
  void whatAPeerSentBeforeItClosedItsPortComesFirst() {
    FakeNet net = new FakeNet(2);
    net.rank(1).publish("s", Flux.range(0, 200), Codec.INT);
    net.rank(1).publish("open", Flux.never(), Codec.INT);
    Heard<Integer> heard = new Heard<>(256);
    Heard<Integer> open = new Heard<>(9);
    net.rank(0).subscribe(1, "open", Codec.INT).subscribe(open);
    net.rank(0).subscribe(1, "s", Codec.INT).subscribe(heard);
    net.runUntil(p -> p.from() == 1 && p.has(InFrame.LAST));
    assertThat(heard.items).hasSizeLessThan(200);
    net.breaks(0, 1, new PortClosedException(Detail.of("send", "error_port_closed", "")));
    assertThat(heard.hasEnded() || open.hasEnded()).isFalse();
    net.run();
    assertThat(heard.items).hasSize(200);
    assertThat(heard.completed).isTrue();
    net.die(1, PeerEvent.State.LEFT);
    net.run();
    assertThat(open.error).isInstanceOf(PeerLeftException.class);
    assertThat(net.open(0)).isZero();
  }

  /** What a peer announced without credit comes when there is room, after messages of others. */
  @Test
  void whatAPeerLeftBehindComesBeforeItsEnd() {
    FakeNet net = new FakeNet(3);
    net.rank(1).publish("s", Flux.range(0, 200), Codec.INT);
    net.rank(1).publish("open", Flux.never(), Codec.INT);
    net.rank(2).publish("t", Flux.range(0, 200), Codec.INT);
    Heard<Integer> heard = new Heard<>(256);
    Heard<Integer> open = new Heard<>(9);
    net.rank(0).subscribe(1, "open", Codec.INT).subscribe(open);
    net.rank(0).subscribe(1, "s", Codec.INT).subscribe(heard);
    net.leaveBehind(net.runUntil(p -> p.from() == 1 && p.has(InFrame.LAST)));
    net.die(1, PeerEvent.State.LEFT);
    Heard<Integer> other = new Heard<>(256);
    net.rank(0).subscribe(2, "t", Codec.INT).subscribe(other);
    net.run();
    assertThat(other.items).hasSize(200);
    assertThat(heard.hasEnded() || open.hasEnded()).isFalse();
    net.makeRoom();
    net.run();
    assertThat(heard.error).isNull();
    assertThat(heard.items).hasSize(200);
    assertThat(heard.completed).isTrue();
    assertThat(open.error).isInstanceOf(PeerLeftException.class);
    assertThat(net.open(0)).isZero();
  }

  /** The end of one peer is no message of another. */
  @Test
  void whatAPeerSentComesBeforeItsEndThoughOthersEndMeanwhile() {
    FakeNet net = new FakeNet(4);
    net.rank(1).publish("s", Flux.range(0, 200), Codec.INT);
    net.rank(1).publish("open", Flux.never(), Codec.INT);
    Heard<Integer> heard = new Heard<>(256);
    Heard<Integer> open = new Heard<>(9);
    net.rank(0).subscribe(1, "open", Codec.INT).subscribe(open);
    net.rank(0).subscribe(1, "s", Codec.INT).subscribe(heard);
    net.runUntil(p -> p.from() == 1 && p.has(InFrame.LAST));
    net.die(1, PeerEvent.State.LEFT);
    net.die(2, PeerEvent.State.LEFT);
    net.die(3, PeerEvent.State.FAILED);
    net.run();
    assertThat(heard.error).isNull();
    assertThat(heard.items).hasSize(200);
    assertThat(heard.completed).isTrue();
    assertThat(open.error).isInstanceOf(PeerLeftException.class);
    assertThat(net.open(0)).isZero();
  }

  /** Of who sends what makes no sense nothing more is believed; with others life goes on. */
  @Test
  void whatFollowsAViolationGetsItsErrorOnBothSides() {
    FakeNet net = new FakeNet(3);
    net.ranks.forEach(rank -> rank.publish("s", Flux.just(7), Codec.INT));
    net.inject(1, 0, 1, new byte[] {99});
    net.run();
    int frames = net.sent.size();
    for (int round = 0; round < 2; round++) {
      Heard<Integer> mine = new Heard<>(1);
      Heard<Integer> theirs = new Heard<>(1);
      net.rank(0).subscribe(1, "s", Codec.INT).subscribe(mine);
      net.rank(1).subscribe(0, "s", Codec.INT).subscribe(theirs);
      net.run();
      assertThat(mine.error).isInstanceOf(ProtocolException.class);
      assertThat(theirs.error).isInstanceOf(ProtocolException.class);
    }
    assertThat(net.sent).as("nothing is sent for these").hasSize(frames);
    assertThat(net.counter(0, "link_violations")).isEqualTo(1);
    Heard<Integer> other = new Heard<>(1);
    net.rank(0).subscribe(2, "s", Codec.INT).subscribe(other);
    net.run();
    assertThat(other.items).containsExactly(7);
    assertThat(net.open(0) + net.open(1) + net.open(2)).isZero();
  }

  /** That it is gone explains more than what it did before. */
  @Test
  void aPeerThatIsGoneAfterItsViolationIsGone() {
    FakeNet net = new FakeNet(2);
    net.inject(1, 0, 1, new byte[] {99});
    net.run();
    net.die(1, PeerEvent.State.FAILED);
    net.run();
    Heard<Integer> heard = new Heard<>(1);
    net.rank(0).subscribe(1, "s", Codec.INT).subscribe(heard);
    net.run();
    assertThat(heard.error).isInstanceOf(PeerFailedException.class);
    assertThat(net.open(0)).isZero();
  }

  /** Its peers see it alive, and would wait. */
  @Test
  void aRankWhoseChannelsFailTellsItsPeers() {
    FakeNet net = new FakeNet(2);
    net.rank(0).publish("t", Flux.never(), Codec.INT);
    net.rank(1).publish("s", Flux.never(), Codec.INT);
    Heard<Integer> mine = new Heard<>(9);
    Heard<Integer> theirs = new Heard<>(9);
    net.rank(0).subscribe(1, "s", Codec.INT).subscribe(mine);
    net.rank(1).subscribe(0, "t", Codec.INT).subscribe(theirs);
    net.run();
    RuntimeException fault = new IllegalStateException("a fault of ours");
    net.close(0, fault);
    net.run();
    assertThat(mine.error).isInstanceOf(LciException.class).hasCause(fault);
    assertThat(theirs.error)
        .isInstanceOf(RemoteException.class)
        .hasMessageContaining("rank 0 ended by a fault");
    Heard<Integer> late = new Heard<>(9);
    net.rank(0).subscribe(1, "s", Codec.INT).subscribe(late);
    assertThat(late.error).isInstanceOf(LciException.class).hasCause(fault);
    assertThat(net.open(0) + net.open(1)).isZero();
  }

  /** Whatever keeps a rank from sending: the peer does not wait for what will not come. */
  @Test
  void aBrokenWireEndsTheExchangesOfBothRanks() {
    FakeNet net = new FakeNet(2);
    net.rank(0).publish("t", Flux.never(), Codec.INT);
    net.rank(1).publish("s", Flux.never(), Codec.INT);
    Heard<Integer> mine = new Heard<>(9);
    Heard<Integer> theirs = new Heard<>(9);
    net.rank(0).subscribe(1, "s", Codec.INT).subscribe(mine);
    net.rank(1).subscribe(0, "t", Codec.INT).subscribe(theirs);
    net.run();
    net.breaks(
        0, 1, new ResourceExhaustedException(Detail.of("send", WireError.EXHAUSTED, "too many")));
    net.run();
    assertThat(mine.error)
        .isInstanceOf(ResourceExhaustedException.class)
        .hasMessageContaining("too many");
    assertThat(theirs.error)
        .isInstanceOf(ResourceExhaustedException.class)
        .hasMessageContaining("too many");
    assertThat(net.open(0) + net.open(1)).isZero();
  }
}
