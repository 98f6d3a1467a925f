/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import io.lci.Codec;
import io.lci.LciRuntime;
import io.lci.error.LciException;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/**
 * One rank of {@link KilledMembersTest}. The living make calls and streams until the last of them
 * is killed; then the others say how these ended, and go on without it.
 */
final class KilledMember {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final int LONG = 256 << 10;

  private KilledMember() {}

  public static void main(String[] arguments) {
    try (LciRuntime lci = LciRuntime.create()) {
      for (int living = lci.size(); living > 1; living--) {
        int[] ranks = IntStream.range(0, living).toArray();
        untilOneDies(lci, lci.world().subgroup(living, ranks));
      }
    }
  }

  private static void untilOneDies(LciRuntime lci, Group group) {
    List<Mono<String>> ends =
        all(lci, group).stream().map(KilledMember::end).collect(Collectors.toList());
    System.out.println("under way by " + group.size());
    System.out.println(
        "ended by " + group.size() + ": " + Flux.merge(ends).collectList().block(LIMIT));
  }

  /** Without an end. Each has an order of its own. */
  private static List<Flux<?>> all(LciRuntime lci, Group group) {
    Vec model = Vec.bytes(lci.memory().buffer(LONG), 0, LONG);
    Flux<Integer> items = Flux.range(0, Integer.MAX_VALUE);
    return List.of(
        group.allReduce(1L, ReduceOp.SUM).repeat(),
        group.context(1).broadcast(0, model).thenReturn(0).repeat(),
        group.context(2).allGather("a value", Codec.UTF8).repeat(),
        group.context(3).streams().shuffle(items, n -> n % group.size(), Codec.INT),
        group
            .context(4)
            .streams()
            .allReduce(items.map(n -> Vec.longs(new long[] {n})), ReduceOp.SUM));
  }

  /** Subscribes, and waits until something has come; gives what it ends with. */
  private static Mono<String> end(Flux<?> of) {
    Sinks.Empty<Void> first = Sinks.empty();
    Mono<String> end =
        of.doOnNext(item -> first.tryEmitEmpty())
            .then(Mono.just("completed"))
            .onErrorResume(
                LciException.class, e -> Mono.just(e.getClass().getSimpleName() + " " + e.rank()))
            .doOnTerminate(first::tryEmitEmpty)
            .cache();
    end.subscribe();
    first.asMono().block(LIMIT);
    return end;
  }
}
