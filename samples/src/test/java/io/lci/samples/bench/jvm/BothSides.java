/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench.jvm;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.samples.EachRank;
import java.util.concurrent.Callable;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** Both sides of a benchmark, each on a thread of its own. */
final class BothSides {
  private BothSides() {}

  /** The first one measures something. */
  static void assertMeasured(Callable<Double> first, Callable<Double> second) {
    double value =
        Mono.zip(onItsThread(first), onItsThread(second))
            .blockOptional(EachRank.LIMIT)
            .orElseThrow()
            .getT1();
    assertThat(value).isFinite().isPositive();
  }

  private static Mono<Double> onItsThread(Callable<Double> side) {
    return Mono.fromCallable(side).subscribeOn(Schedulers.boundedElastic());
  }
}
