/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.channel;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.PeerEvent;
import io.lci.error.LciException.Detail;
import io.lci.error.PeerLeftException;
import io.lci.error.PortClosedException;
import io.lci.error.ResourceExhaustedException;
import io.lci.stream.Codec;
import io.lci.testing.LciLeakCheck;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Flux;

/** What becomes of a link when frames cannot be sent any more. */
@ExtendWith(LciLeakCheck.class)
class LinkEndsTest {
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
