/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.internal.collective.CallMessages.Kind;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.loop.Awaiter;
import io.lci.internal.loop.EventLoop;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;

/** Brings bytes of every rank to every rank. */
final class Exchange {
  private final CoreRuntime core;
  private final EventLoop loop;
  private final CallMessages messages;
  private final AtomicLong next = new AtomicLong();

  Exchange(CoreRuntime core, EventLoop loop, CallMessages messages) {
    this.core = core;
    this.loop = loop;
    this.messages = messages;
  }

  /** Takes part once per subscription, also when the subscriber leaves. */
  Mono<byte[][]> of(byte[] mine) {
    byte[] given = mine.clone();
    return new Mono<>() {
      @Override
      public void subscribe(CoreSubscriber<? super byte[][]> actual) {
        Awaiter<byte[][]> waiter = new Awaiter<>(loop, actual);
        waiter.begin();
        begin(given).subscribe(waiter::arrived, waiter::failed);
      }
    };
  }

  private Mono<byte[][]> begin(byte[] mine) {
    long number = next.getAndIncrement();
    byte[][] all = new byte[core.size][];
    all[core.rank] = mine.clone(); // the subscriber may write into it
    List<Mono<?>> parts = new ArrayList<>();
    for (int rank = 0; rank < all.length; rank++) {
      if (rank != core.rank) {
        int peer = rank;
        parts.add(
            messages.receive(peer, number, Kind.BYTES).doOnNext(m -> all[peer] = m.toByteArray()));
        parts.add(messages.send(peer, number, Kind.BYTES, mine));
      }
    }
    return Mono.when(parts).thenReturn(all);
  }
}
