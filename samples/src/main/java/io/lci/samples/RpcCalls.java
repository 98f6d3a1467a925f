/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples;

import io.lci.LciRuntime;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.error.RemoteException;
import io.lci.rpc.RpcHandler;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import picocli.CommandLine.Command;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Every rank keeps prices, and asks the next one for its own: the four interactions of {@link
 * LciRuntime#rpc()}, and how an error of a handler looks to its caller.
 */
@Command(
    name = "rpc",
    mixinStandardHelpOptions = true,
    description = "The four interactions of RPC, and an error, between each rank and the next.")
public final class RpcCalls implements Callable<Integer> {
  private static final String PRICES = "prices";
  private static final String UNKNOWN = "no_such_article";
  private static final Duration LIMIT = Duration.ofMinutes(1);

  /** Runs as a program of its own. */
  public static void main(String[] args) {
    Samples.run(new RpcCalls(), args);
  }

  @Override
  public Integer call() {
    try (LciRuntime lci = LciRuntime.create()) {
      conversation(lci)
          .doOnNext(line -> System.out.printf("rank %d: %s%n", lci.rank(), line))
          .then(lci.barrier()) // nobody leaves while others still ask
          .block(LIMIT);
    }
    return 0;
  }

  /** Serves this rank's prices, asks for those of the next rank, and tells what was answered. */
  static Flux<String> conversation(LciRuntime lci) {
    int next = (lci.rank() + 1) % lci.size();
    return Mono.fromRunnable(() -> lci.rpc().serve(PRICES, new Prices()))
        .then(lci.barrier()) // from here on every rank serves them
        .thenMany(
            Flux.concat(
                change(lci, next),
                price(lci, next, "tea"),
                price(lci, next, "gold"),
                all(lci, next),
                several(lci, next)));
  }

  /** A request that nobody answers: it is over when it is on its way. */
  private static Flux<String> change(LciRuntime lci, int rank) {
    return lci.rpc()
        .fireAndForget(rank, PRICES, Payload.ofUtf8("salt=1"))
        .thenMany(Flux.just("told rank " + rank + " the price of salt"));
  }

  /** A request with an answer, or an error with the handler's own code. */
  private static Mono<String> price(LciRuntime lci, int rank, String article) {
    return lci.rpc()
        .requestResponse(rank, PRICES, Payload.ofUtf8(article))
        .map(answer -> article + " costs " + answer.getLong(0))
        .onErrorResume(
            RemoteException.class,
            error -> Mono.just("%s: %s, %s".formatted(article, error.code(), error.hint())));
  }

  /** A request with a stream of answers, as fast as they are asked for. */
  private static Mono<String> all(LciRuntime lci, int rank) {
    return lci.rpc()
        .requestStream(rank, PRICES, Payload.ofUtf8("t"))
        .map(Message::utf8)
        .collectSortedList()
        .map(articles -> "begin with t: " + articles);
  }

  /** A stream of requests with a stream of answers. */
  private static Mono<String> several(LciRuntime lci, int rank) {
    Flux<Payload> articles = Flux.just("tea", "tin").map(Payload::ofUtf8);
    return lci.rpc()
        .requestChannel(rank, PRICES, articles)
        .map(answer -> answer.getLong(0))
        .collectList()
        .map(prices -> "tea and tin cost " + prices);
  }

  /** What a rank serves: a method for each interaction; those left out are errors to callers. */
  private static final class Prices implements RpcHandler {
    private final Map<String, Long> prices =
        new ConcurrentHashMap<>(Map.of("tea", 5L, "tin", 8L, "oil", 3L));

    @Override
    public Mono<Void> fireAndForget(Message change) {
      return Mono.fromRunnable(
          () -> {
            List<String> words = List.of(change.utf8().split("="));
            prices.put(words.get(0), Long.parseLong(words.get(1)));
          });
    }

    @Override
    public Mono<Payload> requestResponse(Message article) {
      return priceOf(article);
    }

    @Override
    public Flux<Payload> requestStream(Message prefix) {
      String beginning = prefix.utf8();
      return Flux.fromIterable(prices.keySet())
          .filter(article -> article.startsWith(beginning))
          .map(Payload::ofUtf8);
    }

    @Override
    public Flux<Payload> requestChannel(int rank, Flux<Message> articles) {
      return articles.concatMap(this::priceOf);
    }

    private Mono<Payload> priceOf(Message article) {
      Long price = prices.get(article.utf8());
      return price != null
          ? Mono.just(Payload.ofLong(price))
          : Mono.error(new RemoteException(UNKNOWN, "no price of it is known here"));
    }
  }
}
