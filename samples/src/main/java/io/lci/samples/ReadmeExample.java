/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples;

import io.lci.LciRuntime;
import io.lci.am.Port;
import java.time.Duration;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

public final class ReadmeExample {
  static final Port NUMBERS = Port.of(1, "numbers"); // same number and name on every rank

  public static void main(String[] args) {
    try (LciRuntime lci = LciRuntime.create()) { // the launcher's rank and size; alone: 0 of 1
      int next = (lci.rank() + 1) % lci.size();
      Mono<Long> received =
          lci.inbox(NUMBERS) // until it opens, peers hold no credit
              .receive(m -> m.getLong(0)) // decoded on the loop; nothing to release
              .take(1_000_000)
              .reduce(0L, Long::sum);
      Mono<Void> sent =
          lci.sender(NUMBERS) // a slow receiver is no error: upstream is asked for less
              .sendAll(next, Flux.range(1, 1_000_000), (n, out) -> out.putLong(n));
      Mono<String> line =
          received.map(sum -> "rank %d of %d: %d".formatted(lci.rank(), lci.size(), sum));
      Mono.when(line.doOnNext(System.out::println), sent)
          .then(lci.barrier()) // nobody leaves while others still wait
          .block(Duration.ofMinutes(1));
    }
  }
}
