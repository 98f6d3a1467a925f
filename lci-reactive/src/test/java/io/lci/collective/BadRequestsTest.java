/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.Codec;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.subscriber.TestSubscriber;

/**
 * A subscriber that asks for something and then for less than nothing: its call was asked for, so
 * the others do not wait for ever.
 */
@ExtendWith(LciLeakCheck.class)
class BadRequestsTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private static Named<Function<CollectiveContext, Flux<?>>> call(
      String name, Function<CollectiveContext, Flux<?>> call) {
    return Named.of(name, call);
  }

  static Stream<Named<Function<CollectiveContext, Flux<?>>>> calls() {
    return Stream.of(
        call("barrier", context -> context.barrier().flux()),
        call("values", context -> context.allGather("a", Codec.UTF8).flux()),
        call("shuffle", c -> c.streams().shuffle(Flux.range(0, 9), n -> n % 2, Codec.INT)),
        call("gather", c -> c.streams().gather(0, Flux.range(0, 9), Codec.INT)),
        call("broadcast", c -> c.streams().broadcast(0, Flux.range(0, 9), Codec.INT)),
        call("reduced", c -> c.streams().allReduce(chunks(), ReduceOp.SUM)));
  }

  private static Flux<Vec> chunks() {
    return Flux.range(0, 9).map(n -> Vec.longs(new long[] {n}));
  }

  @ParameterizedTest
  @MethodSource("calls")
  void theOthersHearOfAnEnd(Function<CollectiveContext, Flux<?>> call) {
    try (LciTestJob job = LciTestJob.start(2)) {
      for (int bad = 0; bad < 2; bad++) {
        int key = bad;
        List<CollectiveContext> contexts =
            job.ranks().stream().map(lci -> lci.world().context(key)).toList();
        TestSubscriber<Object> heard = TestSubscriber.builder().initialRequest(0).build();
        call.apply(contexts.get(bad))
            .doOnSubscribe(
                subscription -> {
                  subscription.request(Long.MAX_VALUE);
                  subscription.request(-1);
                })
            .subscribe(heard);
        call.apply(contexts.get(1 - bad)).then().onErrorComplete().block(LIMIT);
        heard.block(LIMIT);
        assertThat(heard.expectTerminalError()).isInstanceOf(IllegalArgumentException.class);
        Mono.when(contexts.stream().map(CollectiveContext::barrier).toList()).block(LIMIT);
      }
    }
  }
}
