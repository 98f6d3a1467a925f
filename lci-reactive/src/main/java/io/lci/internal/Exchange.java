/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.LciRuntime;
import io.lci.Op;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.matching.EngineOptions;
import io.lci.rma.MemoryRegion;
import io.lci.rma.RemoteMemory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/**
 * Brings bytes of every rank to every rank, by sends on an engine of the runtime's own. The tag is
 * the number of the exchange.
 */
final class Exchange {
  /** The last number there is: the program's engines end before it. */
  private static final int ENGINE = 255;

  private final RuntimeImpl runtime;
  private final EngineImpl engine;
  private final AtomicLong next = new AtomicLong();

  Exchange(RuntimeImpl runtime) {
    this.runtime = runtime;
    this.engine = EngineImpl.create(runtime, ENGINE, EngineOptions.defaults());
  }

  /** Takes part once per subscription, also when the subscriber leaves. */
  Mono<byte[][]> of(byte[] mine) {
    if (mine.length > LciRuntime.MAX_EXCHANGE) {
      throw new IllegalArgumentException(
          "at most " + LciRuntime.MAX_EXCHANGE + " bytes are exchanged: " + mine.length);
    }
    return Mono.defer(
        () -> {
          Sinks.One<byte[][]> result = Sinks.one();
          begin(mine, next.getAndIncrement() & Op.MAX_TAG)
              .subscribe(result::tryEmitValue, result::tryEmitError);
          return result.asMono();
        });
  }

  /** Handles of memory, which is opened. */
  Mono<List<RemoteMemory>> of(MemoryRegion mine) {
    return of(mine.handle())
        .map(
            handles ->
                IntStream.range(0, runtime.size())
                    .mapToObj(owner -> runtime.remote(owner, handles[owner]))
                    .toList());
  }

  private Mono<byte[][]> begin(byte[] mine, long number) {
    byte[][] all = new byte[runtime.size()][];
    all[runtime.rank()] = mine.clone();
    List<Mono<?>> parts = new ArrayList<>();
    for (int rank = 0; rank < all.length; rank++) {
      if (rank != runtime.rank()) {
        int peer = rank;
        Mono<Message> received =
            message(Op.receive(peer, number, LciRuntime.MAX_EXCHANGE), OpRun.Result.MESSAGE);
        parts.add(received.doOnNext(m -> all[peer] = m.toByteArray()));
        parts.add(message(Op.send(peer, number, Payload.of(mine)), OpRun.Result.NOTHING));
      }
    }
    return Mono.when(parts).thenReturn(all);
  }

  private <T> Mono<T> message(Op op, OpRun.Result result) {
    return new MonoOp<>(runtime.loop(0), op.engine(engine), result);
  }
}
