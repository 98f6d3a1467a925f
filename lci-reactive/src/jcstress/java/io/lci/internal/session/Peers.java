/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import io.lci.PeerEvent;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.am.PayloadWriter;
import io.lci.error.LciClosedException;
import io.lci.error.LciException;
import io.lci.rpc.RpcHandler;
import java.util.concurrent.atomic.AtomicInteger;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Hooks;

/**
 * Two ranks without a core, of which the first calls the second. One actor is the loop of both,
 * whoever makes or judges them is it before and after; in between it is nobody's.
 */
final class Peers {
  static final int CALLER = 0;
  static final int SERVER = 1;
  private static final AtomicInteger DROPPED = new AtomicInteger();

  static {
    Hooks.onErrorDropped(error -> DROPPED.incrementAndGet());
    Hooks.onNextDropped(item -> DROPPED.incrementAndGet());
  }

  final FakeNet net = new FakeNet(2);

  /** Items of sources that were encoded, and those that were discarded. */
  final AtomicInteger encoded = new AtomicInteger();

  final AtomicInteger discarded = new AtomicInteger();

  /** Sources that were subscribed to and have not ended. */
  private final AtomicInteger alive = new AtomicInteger();

  Peers(RpcHandler handler) {
    net.rank(SERVER).serve("f", handler);
  }

  /** Answers with three numbers. */
  static Peers answering() {
    Peers[] made = new Peers[1];
    made[0] =
        new Peers(
            RpcHandler.stream(request -> made[0].counted(Flux.range(0, 3).map(Payload::ofInt))));
    return made[0];
  }

  private <T> Flux<T> counted(Flux<T> source) {
    return source
        .doOnSubscribe(s -> alive.incrementAndGet())
        .doFinally(how -> alive.decrementAndGet());
  }

  /** Answers with what is asked. */
  static Peers echoing() {
    return new Peers(
        new RpcHandler() {
          @Override
          public Publisher<Payload> requestChannel(int rank, Flux<Message> requests) {
            return requests.map(request -> Payload.of(request.toByteArray()));
          }
        });
  }

  void call(Heard<Message> by) {
    net.rank(CALLER).requestStream(SERVER, "f", Payload.empty()).subscribe(by);
    net.settle();
    net.drivenBy(null);
  }

  /** Calls with a source; all that happens by itself has happened then. */
  void call(Publisher<Payload> source, Heard<Message> by) {
    net.rank(CALLER)
        .requestChannel(SERVER, "f", source)
        .doOnDiscard(Payload.class, item -> discarded.incrementAndGet())
        .subscribe(by);
    net.run();
    net.drivenBy(null);
  }

  /** An item, whose encoding is counted. */
  Payload item() {
    return new Payload() {
      @Override
      public int size() {
        return Integer.BYTES;
      }

      @Override
      public void writeTo(PayloadWriter out) {
        encoded.incrementAndGet();
        out.putInt(1);
      }
    };
  }

  /** The actor that calls is the loop of both. */
  void become() {
    net.drivenBy(Thread.currentThread());
  }

  /** Delivers everything, by the actor that is the loop. */
  void run() {
    become();
    net.run();
  }

  /** The server dies: nothing comes to it any more, and it ends by itself. */
  void serverDies() {
    net.die(SERVER, PeerEvent.State.FAILED);
    net.packets.removeIf(packet -> packet.to() == SERVER);
    net.close(SERVER, new LciClosedException(LciException.Detail.of("close", "error_closed", "")));
  }

  /** Does all that is to be done. Returns what is left over, and must be 0. */
  int leftOver() {
    run();
    long open = net.open(CALLER) + net.open(SERVER);
    return (int) open + alive.get() + DROPPED.get();
  }
}
