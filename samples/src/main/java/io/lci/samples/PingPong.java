/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples;

import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.am.Inbox;
import io.lci.am.InboxOptions;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.am.Sender;
import io.lci.am.SenderOptions;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Ranks 0 and 1, 2 and 3, and so on send numbers to and fro, one on each thread; each step adds
 * one. A thread is a loop with a device, an inbox and a sender of its own. [W6]
 */
@Command(
    name = "ping-pong",
    mixinStandardHelpOptions = true,
    description = {
      "Pairs of ranks send numbers of 8 bytes to and fro, one number on each thread, and check every"
          + " step.",
      "Needs an even number of ranks."
    })
public final class PingPong implements Callable<Integer> {
  private static final int FIRST_PORT = 1;
  private static final Duration LIMIT = Duration.ofMinutes(5);

  @Option(
      names = "--rounds",
      paramLabel = "N",
      defaultValue = "1000",
      description = "How often each number comes back. Default ${DEFAULT-VALUE}.")
  long rounds;

  @Option(
      names = "--threads",
      paramLabel = "T",
      defaultValue = "4",
      description = "Loops of each rank. Default ${DEFAULT-VALUE}.")
  int threads;

  @Spec @Nullable CommandSpec spec;

  /** Runs as a program of its own. */
  public static void main(String[] args) {
    Samples.run(new PingPong(), args);
  }

  @Override
  public Integer call() {
    Samples.require(spec, rounds >= 1, "--rounds must be at least 1, not " + rounds);
    Samples.require(
        spec,
        threads >= 1 && threads <= LciOptions.MAX_LOOPS,
        "--threads must be 1 to " + LciOptions.MAX_LOOPS + ", not " + threads);
    try (LciRuntime lci = LciRuntime.create(LciOptions.builder().loops(threads).build())) {
      long start = System.nanoTime();
      Long received = play(lci, rounds).block(LIMIT);
      double micros = (System.nanoTime() - start) / 1e3 / rounds;
      if (lci.rank() % 2 == 0) {
        System.out.printf(
            Locale.ROOT,
            "rank %d: %d threads received %d numbers, all in turn, %.1f us a round%n",
            lci.rank(),
            threads,
            received,
            micros);
      }
      lci.barrier().block(LIMIT);
    }
    return 0;
  }

  /** Emits how many numbers this rank received, on all its loops; fails at a wrong one. */
  static Mono<Long> play(LciRuntime lci, long rounds) {
    if (lci.size() % 2 != 0) {
      throw new IllegalArgumentException(
          "an even number of ranks is needed, there are " + lci.size());
    }
    return Flux.range(0, lci.loops().size())
        .flatMap(loop -> rally(lci, loop, rounds))
        .reduce(0L, Long::sum);
  }

  private static Mono<Long> rally(LciRuntime lci, int loop, long rounds) {
    Port ball = Port.of(FIRST_PORT + loop, "ball-" + loop);
    Inbox inbox = lci.inbox(ball, InboxOptions.builder().loop(loop).build());
    Sender sender = lci.sender(ball, SenderOptions.builder().loop(loop).build());
    int partner = lci.rank() ^ 1;
    int first = lci.rank() < partner ? 2 : 1; // the lower rank serves 1 and gets 2 back
    long last = 2 * rounds;
    Mono<Void> serve = first == 2 ? sender.send(partner, Payload.ofLong(1)) : Mono.empty();
    return serve
        .thenMany(inbox.receive(m -> m.getLong(0)))
        .take(rounds)
        .index((round, n) -> inTurn(n, first + 2 * round))
        .concatMap(
            n ->
                n == last
                    ? Mono.just(n)
                    : sender.send(partner, Payload.ofLong(n + 1)).thenReturn(n),
            1)
        .count();
  }

  private static long inTurn(long number, long expected) {
    if (number != expected) {
      throw new IllegalStateException("received " + number + ", expected " + expected);
    }
    return number;
  }
}
