/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples;

import io.lci.LciRuntime;
import io.lci.am.MessageView;
import io.lci.am.Payload;
import io.lci.am.Port;
import java.time.Duration;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Every rank says who it is; then rank 0 greets all of them by active message. [W6] */
@Command(
    name = "hello",
    mixinStandardHelpOptions = true,
    description = "Every rank says who it is, and rank 0 greets all.")
public final class Hello implements Callable<Integer> {
  private static final Port GREETINGS = Port.of(1, "greetings");
  private static final Duration LIMIT = Duration.ofMinutes(1);

  /** Runs as a program of its own. */
  public static void main(String[] args) {
    Samples.run(new Hello(), args);
  }

  @Override
  public Integer call() {
    try (LciRuntime lci = LciRuntime.create()) {
      System.out.printf("hello from rank %d of %d%n", lci.rank(), lci.size());
      greeting(lci).doOnNext(System.out::println).then(lci.barrier()).block(LIMIT);
    }
    return 0;
  }

  /** Emits what this rank was told by rank 0, which greets all. */
  static Mono<String> greeting(LciRuntime lci) {
    Mono<String> heard = lci.inbox(GREETINGS).receive(m -> hear(lci, m)).next();
    return lci.rank() == 0 ? greetAll(lci).then(heard) : heard; // the inbox keeps what comes before
  }

  private static String hear(LciRuntime lci, MessageView message) {
    String text = message.utf8();
    if (message.rank() != 0 || !text.equals(textFor(lci.rank()))) {
      throw new IllegalStateException("rank " + message.rank() + " said: " + text);
    }
    return "rank %d got: %s, from rank %d".formatted(lci.rank(), text, message.rank());
  }

  private static Mono<Void> greetAll(LciRuntime lci) {
    return Flux.range(0, lci.size())
        .flatMap(rank -> lci.sender(GREETINGS).send(rank, Payload.ofUtf8(textFor(rank))))
        .then();
  }

  private static String textFor(int rank) {
    return "greetings, rank " + rank;
  }
}
