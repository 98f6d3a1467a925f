/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.util.concurrent.Queues;

/** Moves signals from their loop to where options ask for them. */
public final class Signals {
  private Signals() {}

  public static <T> Mono<T> on(@Nullable Scheduler where, Mono<T> mono) {
    return where == null ? mono : mono.publishOn(where);
  }

  public static <T> Flux<T> on(@Nullable Scheduler where, Flux<T> flux) {
    return on(where, flux, 1);
  }

  /** Of a Flux whose elements hold up to {@code most} things: so many fewer are taken ahead. */
  public static <T> Flux<T> on(@Nullable Scheduler where, Flux<T> flux, int most) {
    int ahead = Math.max(1, Queues.SMALL_BUFFER_SIZE / most);
    return where == null ? flux : flux.publishOn(where, ahead);
  }
}
