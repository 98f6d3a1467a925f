/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.error.PeerFailedException;
import io.lci.rpc.RpcHandler;
import java.time.Duration;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** A rank of {@link RpcProcessesTest}: rank 1 serves until it is told to die, rank 0 calls. */
public final class RpcProcess {
  private static final Duration LIMIT = Duration.ofSeconds(45);
  private static final int COUNT = 2_000;

  private RpcProcess() {}

  public static void main(String[] arguments) {
    try (LciRuntime lci = LciRuntime.create()) {
      if (lci.rank() == 1) {
        serve(lci);
      } else {
        call(lci);
      }
    }
  }

  private static void serve(LciRuntime lci) {
    lci.streams().publish("numbers", Flux.range(0, COUNT), Codec.INT);
    lci.streams().publish("never", Flux.never(), Codec.INT);
    lci.rpc()
        .serve("double", RpcHandler.response(m -> Mono.just(Payload.ofLong(2 * m.getLong(0)))));
    lci.rpc()
        .serve(
            "die",
            RpcHandler.response(
                m -> {
                  Runtime.getRuntime().halt(9);
                  return Mono.empty();
                }));
    lci.barrier().block(LIMIT);
    Mono.never().block(LIMIT);
  }

  private static void call(LciRuntime lci) {
    lci.barrier().block(LIMIT);
    Long sum =
        Flux.range(0, COUNT)
            .flatMap(i -> lci.rpc().requestResponse(1, "double", Payload.ofLong(i)), 64)
            .map(m -> m.getLong(0))
            .reduce(0L, Long::sum)
            .block(LIMIT);
    System.out.println("sum " + sum);
    byte[] large = new byte[3 << 20];
    Long count = lci.streams().subscribe(1, "numbers", Codec.INT).count().block(LIMIT);
    System.out.println("count " + count);
    Mono<String> open =
        lci.streams()
            .subscribe(1, "never", Codec.INT)
            .map(String::valueOf)
            .onErrorResume(PeerFailedException.class, e -> Mono.just("stream lost " + e.rank()))
            .next()
            .cache();
    open.subscribe();
    System.out.println(
        lci.rpc()
            .requestResponse(1, "die", Payload.of(large))
            .map(Message::utf8)
            .onErrorResume(PeerFailedException.class, e -> Mono.just("call lost " + e.rank()))
            .block(LIMIT));
    System.out.println(open.block(LIMIT));
  }
}
