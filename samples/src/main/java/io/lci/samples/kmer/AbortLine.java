/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer;

import io.lci.LciRuntime;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.error.LciException;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/**
 * How a rank that cannot go on tells the others why, so that all of them end and the reason is
 * printed once.
 */
final class AbortLine {
  private static final Port PORT = Port.of(91, "kmer-abort");

  private final LciRuntime lci;
  private final Sinks.One<AbortedException> received = Sinks.one();
  private final Sinks.One<AbortedException> receivedFromFirst = Sinks.one();

  AbortLine(LciRuntime lci) {
    this.lci = lci;
    lci.inbox(PORT)
        .receive(m -> new AbortedException(m.rank(), m.utf8()))
        .subscribe(this::take, closed -> {});
  }

  private void take(AbortedException abort) {
    received.tryEmitValue(abort);
    if (abort.rank() == 0) {
      receivedFromFirst.tryEmitValue(abort);
    }
  }

  /** Fails when another rank gave up. */
  Mono<Void> failure() {
    return received.asMono().flatMap(Mono::error);
  }

  /** Waits until rank 0 gave up too; false if it did not in time. */
  boolean awaitFirstRank(Duration limit) {
    Mono<Boolean> heard = receivedFromFirst.asMono().hasElement();
    return Boolean.TRUE.equals(heard.timeout(limit, Mono.just(false)).block());
  }

  /** Tells all other ranks; those that are gone or do not listen in time miss it. */
  void tell(String reason, Duration limit) {
    List<Mono<Void>> words =
        IntStream.range(0, lci.size())
            .filter(rank -> rank != lci.rank())
            .mapToObj(rank -> tell(rank, reason))
            .collect(Collectors.toList());
    Mono.when(words).timeout(limit, Mono.empty()).block();
  }

  private Mono<Void> tell(int rank, String reason) {
    return lci.sender(PORT)
        .send(rank, Payload.ofUtf8(reason))
        .onErrorResume(LciException.class, e -> Mono.empty());
  }
}
