/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples;

import io.lci.LciRuntime;
import io.lci.am.Inbox;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.am.Sender;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import reactor.core.publisher.Mono;

/** Ranks 0 and 1, 2 and 3, and so on send a number to and fro; each step adds one. */
@Command(
    name = "ping-pong",
    mixinStandardHelpOptions = true,
    description = "Pairs of ranks send a number to and fro; needs an even number of ranks.")
public final class PingPong implements Callable<Integer> {
  private static final Port BALL = Port.of(1, "ball");
  private static final Duration LIMIT = Duration.ofMinutes(1);

  @Option(
      names = "--rounds",
      paramLabel = "N",
      defaultValue = "1000",
      description = "Default ${DEFAULT-VALUE}.")
  long rounds;

  /** Runs as a program of its own. */
  public static void main(String[] args) {
    Samples.run(new PingPong(), args);
  }

  @Override
  public Integer call() {
    try (LciRuntime lci = LciRuntime.create()) {
      if (lci.size() % 2 != 0) {
        throw new IllegalArgumentException(
            "needs an even number of ranks, there are " + lci.size());
      }
      long start = System.nanoTime();
      play(lci).block(LIMIT);
      double micros = (System.nanoTime() - start) / 1e3 / rounds;
      if (lci.rank() % 2 == 0) {
        System.out.printf(
            Locale.ROOT, "rank %d: %d rounds, %.1f us each%n", lci.rank(), rounds, micros);
      }
      lci.barrier().block(LIMIT);
    }
    return 0;
  }

  /** Completes when the ball has crossed 2 x rounds times; it carries the number of crossings. */
  private Mono<Long> play(LciRuntime lci) {
    int partner = lci.rank() ^ 1;
    Inbox inbox = lci.inbox(BALL);
    Sender sender = lci.sender(BALL);
    boolean serves = lci.rank() < partner;
    long lastReceived = serves ? 2 * rounds : 2 * rounds - 1;
    Mono<Void> serve = serves ? sender.send(partner, Payload.ofLong(1)) : Mono.empty();
    Mono<Long> rally =
        inbox
            .receive(ball -> ball.getLong(0))
            .concatMap(n -> n == 2 * rounds ? Mono.just(n) : back(sender, partner, n), 1)
            .takeUntil(n -> n == lastReceived)
            .last();
    return Mono.zip(rally, serve.thenReturn(true)).map(both -> both.getT1());
  }

  private static Mono<Long> back(Sender sender, int partner, long n) {
    return sender.send(partner, Payload.ofLong(n + 1)).thenReturn(n);
  }
}
