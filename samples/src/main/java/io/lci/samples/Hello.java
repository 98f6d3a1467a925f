/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples;

import io.lci.LciRuntime;
import io.lci.am.Payload;
import io.lci.am.Port;
import java.time.Duration;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Every rank says who it is; then rank 0 greets all of them by active message. */
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
      Mono<Void> greeted =
          lci.inbox(GREETINGS)
              .receive(
                  m -> "rank %d got: %s, from rank %d".formatted(lci.rank(), m.utf8(), m.rank()))
              .next()
              .doOnNext(System.out::println)
              .then();
      Mono<Void> greetings = lci.rank() == 0 ? greetAll(lci) : Mono.empty();
      Mono.when(greeted, greetings).then(lci.barrier()).block(LIMIT);
    }
    return 0;
  }

  private static Mono<Void> greetAll(LciRuntime lci) {
    return Flux.range(0, lci.size())
        .flatMap(
            rank -> lci.sender(GREETINGS).send(rank, Payload.ofUtf8("greetings, rank " + rank)))
        .then();
  }
}
