/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples;

import io.lci.LciRuntime;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.rma.MemoryRegion;
import io.lci.rpc.RpcHandler;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Messages, calls and remote memory between the ranks of a job: each deals with the next one. */
public final class Tour {
  private static final Port WORDS = Port.of(1, "words"); // same number and name on every rank
  private static final String DOUBLE = "double";

  private Tour() {}

  /** Runs in every rank. */
  public static void main(String[] args) {
    try (LciRuntime lci = LciRuntime.create()) {
      int next = (lci.rank() + 1) % lci.size();
      messages(lci, next)
          .then(calls(lci, next))
          .then(memory(lci, next))
          .then(lci.barrier()) // nobody leaves while others still need it
          .block(Duration.ofMinutes(1));
    }
  }

  /** Four words go to the next rank, and four come from the one before. */
  static Mono<Void> messages(LciRuntime lci, int next) {
    Mono<Void> sent =
        lci.sender(WORDS)
            .sendAll(next, Flux.just("to", "be", "or", "not"), (word, out) -> out.putUtf8(word));
    return lci.inbox(WORDS)
        .receive(message -> message.utf8()) // decoded on the loop; nothing to release
        .take(4)
        .collectSortedList() // messages have no order
        .doOnNext(words -> say(lci, "received " + words))
        .and(sent);
  }

  /** Every rank serves a function, and calls that of the next one. */
  static Mono<Void> calls(LciRuntime lci, int next) {
    RpcHandler handler =
        RpcHandler.response(number -> Mono.just(Payload.ofLong(2 * number.getLong(0))));
    return Mono.fromRunnable(() -> lci.rpc().serve(DOUBLE, handler))
        .then(lci.barrier()) // from here on it is served everywhere
        .then(Mono.defer(() -> lci.rpc().requestResponse(next, DOUBLE, Payload.ofLong(21))))
        .doOnNext(answer -> say(lci, "rank " + next + " answered " + answer.getLong(0)))
        .then();
  }

  /** A text is put into the next rank's memory; what the one before wrote here is then read. */
  static Mono<Void> memory(LciRuntime lci, int next) {
    MemoryRegion mine = lci.memory().allocate(64);
    String text = "written by rank %4d".formatted(lci.rank());
    return lci.memory()
        .exchange(mine) // the regions of all, by rank
        .flatMap(
            all ->
                all.get(next)
                    .put(0, Payload.ofUtf8(text))
                    .then(lci.barrier()) // every rank's text is in place
                    .then(all.get(lci.rank()).get(0, text.length())))
        .doOnNext(bytes -> say(lci, new String(bytes, StandardCharsets.UTF_8)))
        .then();
  }

  private static void say(LciRuntime lci, String what) {
    System.out.printf("rank %d of %d: %s%n", lci.rank(), lci.size(), what);
  }
}
