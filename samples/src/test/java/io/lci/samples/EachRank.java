/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples;

import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.List;
import java.util.function.Function;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** Runs a sample on every rank of a job in this JVM at once, as the launcher would. */
public final class EachRank {
  /** Longest time for all of it. */
  public static final Duration LIMIT = Duration.ofSeconds(90);

  private static final String CHAOS = "seed=11,delay=0.2,ticks=16,refuse=0.1,short=0.2";

  private EachRank() {}

  /** What the ranks emit, in their order; those that emit nothing are left out. */
  public static <T> List<T> run(LciTestJob job, Function<LciRuntime, Mono<T>> sample) {
    return Flux.fromIterable(job.ranks())
        .flatMapSequential(
            rank -> Mono.defer(() -> sample.apply(rank)).subscribeOn(Schedulers.boundedElastic()),
            job.size())
        .collectList()
        .blockOptional(LIMIT)
        .orElseThrow();
  }

  /** Adds a transport that reorders, delays and refuses. */
  public static LciOptions.Builder options(boolean chaos) {
    LciOptions.Builder options = LciOptions.builder();
    return chaos ? options.attribute("chaos", CHAOS) : options;
  }
}
