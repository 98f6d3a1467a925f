/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.Codec;
import io.lci.LciRuntime;
import io.lci.error.CollectiveFailedException;
import io.lci.error.LciException;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.function.ToIntFunction;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.subscriber.TestSubscriber;

/** Streams on every rank of a job, and how they went there. */
final class StreamsOfAll {
  static final Duration LIMIT = Duration.ofSeconds(60);

  /** Why code of a test throws. */
  static final IllegalStateException REASON = new IllegalStateException("on purpose");

  private StreamsOfAll() {}

  static Flux<Integer> none() {
    return Flux.never();
  }

  static Flux<Integer> shuffled(
      LciRuntime lci,
      Publisher<Integer> source,
      ToIntFunction<Integer> owner,
      Codec<Integer> codec) {
    return lci.world().streams().shuffle(source, owner, codec);
  }

  static void meet(LciTestJob job) {
    Mono.when(job.ranks().stream().map(LciRuntime::barrier).toList()).block(LIMIT);
  }

  /** What every member got, by its rank. */
  static <T> List<List<T>> all(LciTestJob job, Function<LciRuntime, Flux<T>> stream) {
    List<Mono<List<T>>> each = new ArrayList<>();
    for (LciRuntime lci : job.ranks()) {
      each.add(stream.apply(lci).collectList());
    }
    return Flux.mergeSequential(each, each.size(), 1).collectList().block(LIMIT);
  }

  static <T> List<TestSubscriber<T>> subscribed(
      LciTestJob job, Function<LciRuntime, ? extends Flux<? extends T>> stream) {
    return subscribed(job, Long.MAX_VALUE, stream);
  }

  /**
   * @param first demand of each
   */
  static <T> List<TestSubscriber<T>> subscribed(
      LciTestJob job, long first, Function<LciRuntime, ? extends Flux<? extends T>> stream) {
    List<TestSubscriber<T>> all = new ArrayList<>();
    for (LciRuntime lci : job.ranks()) {
      TestSubscriber<T> one = TestSubscriber.builder().initialRequest(first).build();
      all.add(one);
      stream.apply(lci).subscribe(one);
    }
    return all;
  }

  static Throwable failure(TestSubscriber<?> one) {
    await().atMost(LIMIT).until(one::isTerminatedError);
    return one.expectTerminalError();
  }

  /** How the stream ended on each member. */
  static List<Throwable> failures(LciTestJob job, Function<LciRuntime, ? extends Flux<?>> stream) {
    List<TestSubscriber<Object>> all = subscribed(job, stream);
    return all.stream().map(StreamsOfAll::failure).toList();
  }

  static void assertFailed(TestSubscriber<?> one, Class<? extends Throwable> type) {
    assertThat(failure(one)).isInstanceOf(type);
  }

  /** The member has its own, the others hear of it. */
  static void assertFaultOf(int member, List<Throwable> failures, Throwable reason) {
    for (int rank = 0; rank < failures.size(); rank++) {
      if (rank == member) {
        assertThat(failures.get(rank)).isSameAs(reason);
      } else {
        assertThat(failures.get(rank))
            .isInstanceOf(CollectiveFailedException.class)
            .hasMessageContaining("IllegalStateException: on purpose");
        assertThat(((LciException) failures.get(rank)).rank()).isEqualTo(member);
      }
    }
  }
}
