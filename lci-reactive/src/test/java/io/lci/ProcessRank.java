/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.error.PeerFailedException;
import java.time.Duration;
import java.util.List;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** One rank of {@link TwoProcessesTest}. */
final class ProcessRank {
  static final int COUNT = 50_000;
  private static final Port PORT = Port.of(1, "processes");
  private static final Duration LIMIT = Duration.ofSeconds(45);

  private ProcessRank() {}

  public static void main(String[] arguments) {
    if (arguments[0].equals("join")) {
      join();
      return;
    }
    try (LciRuntime lci = LciRuntime.create()) {
      switch (arguments[0]) {
        case "sum" -> sum(lci);
        case "drain" -> drain(lci);
        case "options" -> options(lci);
        case "wait" -> waitForTheEnd(lci);
        case "die" -> {
          lci.barrier().block(LIMIT);
          Runtime.getRuntime().halt(9);
        }
        default -> throw new IllegalArgumentException(arguments[0]);
      }
    }
  }

  private static void join() {
    try (LciRuntime lci = LciRuntime.create()) {
      System.out.println("joined " + lci.size());
    } catch (PeerFailedException e) {
      System.out.println("joining failed: PeerFailedException rank " + e.rank());
    }
  }

  private static void sum(LciRuntime lci) {
    Mono<Long> received =
        lci.inbox(PORT).receive(m -> m.getLong(0)).take(COUNT).reduce(0L, Long::sum);
    Mono<Void> sent =
        lci.sender(PORT).sendAll(1 - lci.rank(), Flux.range(1, COUNT), (n, out) -> out.putLong(n));
    System.out.println("sum " + Mono.zip(received, sent.thenReturn(1)).block(LIMIT).getT1());
    lci.barrier().block(LIMIT);
  }

  /** Sends what nobody awaits; says how much of it was there, and that nothing came later. */
  private static void drain(LciRuntime lci) {
    int count = 500;
    lci.inbox(PORT);
    for (int n = 0; n < count; n++) {
      Payload payload = Payload.of(new byte[n % 5 == 0 ? 20_000 : 8 * n]);
      lci.sender(PORT).send(1 - lci.rank(), payload).subscribe();
    }
    List<PeerEvent> gone = lci.drainedEverywhere().block(LIMIT);
    long arrivals = lci.snapshot().counter("arrivals");
    Long taken = lci.inbox(PORT).receive(m -> m.size()).take(count).count().block(LIMIT);
    long later = lci.snapshot().counter("arrivals") - arrivals;
    System.out.println("drained " + taken + ", later " + later + ", gone " + gone);
    lci.barrier().block(LIMIT);
  }

  private static void options(LciRuntime lci) {
    LciOptions o = lci.options();
    System.out.printf(
        "%d loops, %s, %d, %d, %d, %d, %s, %s, %s packets%n",
        lci.loops().size(),
        o.invoker(),
        o.idleSpins(),
        o.idleYields(),
        o.maxPosted(),
        o.maxParked(),
        o.closeTimeout(),
        o.stallWarning(),
        o.attributes().get("packets"));
    lci.barrier().block(LIMIT);
  }

  private static void waitForTheEnd(LciRuntime lci) {
    Mono<Void> waiting =
        lci.sender(PORT).send(1, Payload.empty()).repeat(10).then(); // nobody opens the port
    Mono<String> failure =
        waiting
            .thenReturn("sent")
            .onErrorResume(
                PeerFailedException.class, e -> Mono.just("PeerFailedException rank " + e.rank()))
            .cache();
    failure.subscribe();
    lci.barrier().block(LIMIT);
    System.out.println("under way: " + barrierFailure(lci));
    System.out.println(failure.block(LIMIT));
    System.out.println("afterwards: " + barrierFailure(lci));
    PeerEvent event = lci.peerEvents().blockFirst(LIMIT);
    System.out.println("event " + event.state() + " " + event.rank());
  }

  private static String barrierFailure(LciRuntime lci) {
    return lci.barrier()
        .thenReturn("all came")
        .onErrorResume(PeerFailedException.class, e -> Mono.just(e.getMessage()))
        .block(LIMIT);
  }
}
