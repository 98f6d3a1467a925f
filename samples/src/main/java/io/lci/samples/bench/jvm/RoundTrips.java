/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench.jvm;

import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/** One number at a time, to the other rank and back: over two streams, or by calls. */
final class RoundTrips {
  private final Sinks.Many<Long> serves = Sinks.many().unicast().onBackpressureBuffer();
  private final long[] nanos;
  private long start;
  private int trip;

  private RoundTrips(int trips) {
    this.nanos = new long[trips];
  }

  /**
   * Measures over two streams; returns the median in microseconds.
   *
   * @param exchange sends the numbers of its first argument, and passes those that come back
   *     through the second; ends when both have
   */
  static double overStreams(
      Dose dose, BiFunction<Flux<Long>, UnaryOperator<Flux<Long>>, Mono<Void>> exchange) {
    RoundTrips trips = new RoundTrips(dose.count());
    UnaryOperator<Flux<Long>> returned =
        back ->
            back.take(dose.count())
                .doOnNext(trips::returned)
                .doOnSubscribe(subscription -> trips.begin());
    exchange.apply(trips.serves.asFlux(), returned).block();
    return Dose.medianMicros(trips.nanos);
  }

  /**
   * Measures calls; returns the median in microseconds.
   *
   * @param call returns the number that it is given
   */
  static double overCalls(Dose dose, Function<Long, Mono<Long>> call) {
    RoundTrips trips = new RoundTrips(dose.count());
    Mono.defer(
            () -> {
              trips.start = System.nanoTime();
              return call.apply((long) trips.trip);
            })
        .doOnNext(trips::note)
        .repeat(dose.count() - 1L)
        .blockLast();
    return Dose.medianMicros(trips.nanos);
  }

  private void begin() {
    start = System.nanoTime();
    serves.tryEmitNext(0L).orThrow();
  }

  private void returned(long number) {
    note(number);
    if (trip < nanos.length) {
      serves.tryEmitNext((long) trip).orThrow();
    } else {
      serves.tryEmitComplete().orThrow();
    }
  }

  private void note(long number) {
    long now = System.nanoTime();
    Dose.check(number, trip);
    nanos[trip++] = now - start;
    start = now;
  }
}
