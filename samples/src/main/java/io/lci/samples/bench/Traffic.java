/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench;

import io.lci.LciRuntime;
import io.lci.am.Port;
import io.lci.error.PeerLeftException;
import io.lci.error.PortClosedException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Every rank sends to every other without end: something to kill, and to look at under load. Prints
 * {@code ready} when it has heard from all. Ends with exit code 4 and the error when a peer dies.
 */
@Command(
    name = "traffic",
    mixinStandardHelpOptions = true,
    description = "Every rank sends to every other until a peer dies or the time is over.")
public final class Traffic implements Callable<Integer> {
  private static final Port PORT = Port.of(1, "traffic");
  private static final int PEER_FAILED = 4;

  @Option(
      names = "--seconds",
      paramLabel = "N",
      defaultValue = "3600",
      description = "Default ${DEFAULT-VALUE}.")
  int seconds;

  /**
   * Runs the command.
   *
   * @param arguments see {@code --help}
   */
  public static void main(String[] arguments) {
    System.exit(new CommandLine(new Traffic()).execute(arguments));
  }

  @Override
  public Integer call() {
    try (LciRuntime lci = LciRuntime.create()) {
      Mono<Void> time = Mono.delay(Duration.ofSeconds(seconds)).then();
      Mono.firstWithSignal(time, Mono.when(senders(lci)), ready(lci)).block();
      return 0;
    } catch (io.lci.error.PeerFailedException e) {
      System.err.println(e);
      return PEER_FAILED;
    }
  }

  private static List<Mono<Void>> senders(LciRuntime lci) {
    List<Mono<Void>> senders = new ArrayList<>();
    for (int rank = 0; rank < lci.size(); rank++) {
      if (rank != lci.rank()) {
        Flux<Long> endless =
            Flux.generate(
                () -> 0L,
                (n, sink) -> {
                  sink.next(n);
                  return n + 1;
                });
        senders.add(
            lci.sender(PORT)
                .sendAll(rank, endless, (n, out) -> out.putLong(n))
                // Another survivor that is leaving (its ports close first) is not what this rank is
                // to report.
                .onErrorResume(
                    e -> e instanceof PeerLeftException || e instanceof PortClosedException,
                    e -> Mono.never()));
      }
    }
    return senders;
  }

  /** Never completes; takes what comes. */
  private static Mono<Void> ready(LciRuntime lci) {
    Flux<Integer> sources = lci.inbox(PORT).receive(message -> message.rank());
    boolean[] heard = new boolean[lci.size()];
    heard[lci.rank()] = true;
    int[] missing = {lci.size() - 1};
    return sources
        .doOnNext(
            source -> {
              if (!heard[source]) {
                heard[source] = true;
                if (--missing[0] == 0) {
                  System.out.println("ready");
                }
              }
            })
        .then();
  }
}
