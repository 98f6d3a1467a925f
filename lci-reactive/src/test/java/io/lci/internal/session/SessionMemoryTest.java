/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.lci.LciOptions;
import io.lci.PeerEvent;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.rpc.RpcHandler;
import io.lci.stream.StreamLimits;
import io.lci.testing.LciLeakCheck;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** What a peer that asks for much and takes nothing makes this rank keep. */
@ExtendWith(LciLeakCheck.class)
class SessionMemoryTest {
  /** Of each exchange one item is encoded, and the limits say how many exchanges there are. */
  @Test
  void oneItemOfEachExchangeWaitsForRoomAtThePeer() {
    int streams = 3;
    StreamLimits limits = StreamLimits.builder().streams(streams).reassemblyBytes(1).build();
    FakeNet net = new FakeNet(2, LciOptions.builder().streamLimits(limits).build(), null);
    AtomicInteger emitted = new AtomicInteger();
    Flux<Payload> large =
        Flux.range(0, 50)
            .doOnNext(n -> emitted.incrementAndGet())
            .map(n -> Payload.of(new byte[9_000]));
    net.rank(1).serve("f", RpcHandler.stream(request -> large));
    List<Heard<Message>> all = new ArrayList<>();
    for (int i = 0; i < streams + 1; i++) {
      Heard<Message> heard = new Heard<>(50);
      net.rank(0).requestStream(1, "f", Payload.empty()).subscribe(heard);
      all.add(heard);
    }
    while (net.counter(1, "stream_items_sent") < streams && net.step()) {
      net.packets.removeIf(p -> p.from() == 0 && p.type() == FrameType.CREDIT); // no room there
    }
    net.settle();
    assertThat(net.counter(1, "stream_items_sent")).isEqualTo(streams);
    assertThat(emitted).hasValueLessThanOrEqualTo(50 * streams);
    assertThat(all).filteredOn(heard -> heard.error != null).hasSize(1);
  }

  /** Exchanges that are about to fail are not given the memory that others give back. */
  @Test
  void nothingIsGrantedAtTheEndOfASession() {
    int item = 1 << 20;
    StreamLimits limits = StreamLimits.builder().reassemblyBytes(item).build();
    FakeNet net = new FakeNet(2, LciOptions.builder().streamLimits(limits).build(), null);
    Payload large = Payload.of(new byte[item]);
    net.rank(1).serve("f", RpcHandler.response(request -> Mono.just(large)));
    List<Heard<Message>> all = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      Heard<Message> heard = new Heard<>(1);
      net.rank(0).requestResponse(1, "f", Payload.empty()).subscribe(heard);
      all.add(heard);
    }
    while (net.step()) {
      net.packets.removeIf(p -> p.from() == 0 && p.type() == FrameType.CREDIT); // the grant
    }
    assertThat(net.rank(0).session(1).room().used()).isEqualTo(item);
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long before = threads.getCurrentThreadAllocatedBytes();
    net.die(1, PeerEvent.State.FAILED);
    assertThat(threads.getCurrentThreadAllocatedBytes() - before).isLessThan(item);
    assertThat(all).allMatch(heard -> heard.error != null);
    assertThat(net.rank(0).session(1).room().used()).isZero();
  }
}
