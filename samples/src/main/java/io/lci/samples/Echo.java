/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples;

import io.lci.LciRuntime;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.am.Port;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Rank 0 sends words to the last rank, which sends each of them back. */
@Command(
    name = "echo",
    mixinStandardHelpOptions = true,
    description = "Rank 0 sends words to the last rank and prints what comes back, in any order.")
public final class Echo implements Callable<Integer> {
  private static final Port WORDS = Port.of(1, "words");
  private static final Port ECHOES = Port.of(2, "echoes");
  private static final Duration LIMIT = Duration.ofMinutes(1);

  @Parameters(paramLabel = "WORD", arity = "1..*", description = "What to send.")
  List<String> words = List.of();

  /** Runs as a program of its own. */
  public static void main(String[] args) {
    Samples.run(new Echo(), args);
  }

  @Override
  public Integer call() {
    try (LciRuntime lci = LciRuntime.create()) {
      int last = lci.size() - 1;
      Mono<Void> caller = lci.rank() == 0 ? callAndPrint(lci, last) : Mono.empty();
      Mono<Void> echoer = lci.rank() == last ? echo(lci) : Mono.empty();
      Mono.when(caller, echoer).block(LIMIT);
      lci.barrier().block(LIMIT);
    }
    return 0;
  }

  private Mono<Void> callAndPrint(LciRuntime lci, int last) {
    Mono<Void> sent =
        lci.sender(WORDS).sendAll(last, Flux.fromIterable(words), (word, out) -> out.putUtf8(word));
    Mono<Void> printed =
        lci.inbox(ECHOES)
            .receive(m -> m.utf8())
            .take(words.size())
            .doOnNext(System.out::println)
            .then();
    return Mono.when(sent, printed);
  }

  private Mono<Void> echo(LciRuntime lci) {
    return lci.inbox(WORDS)
        .receive()
        .take(words.size())
        .concatMap(m -> lci.sender(ECHOES).send(m.rank(), copyOf(m)))
        .then();
  }

  private static Payload copyOf(Message message) {
    return Payload.of(message.toByteArray());
  }
}
