/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.slow;

import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/**
 * Takes one element for each {@link #askForOne()}, then all that there are after {@link
 * #askForAll()}.
 */
final class SlowSubscriber<T> extends BaseSubscriber<T> {
  private final Sinks.Empty<Void> complete = Sinks.empty();
  private volatile long received;
  private volatile long asked;

  @Override
  protected void hookOnSubscribe(Subscription subscription) {
    // Nothing is asked for yet.
  }

  @Override
  @SuppressWarnings("NonAtomicVolatileUpdate") // one element at a time
  protected void hookOnNext(T element) {
    received++;
    if (received > asked) {
      onError(
          new IllegalStateException("element " + received + ", but " + asked + " were asked for"));
    }
  }

  @Override
  protected void hookOnError(Throwable error) {
    complete.tryEmitError(error);
  }

  @Override
  protected void hookOnComplete() {
    complete.tryEmitEmpty();
  }

  void askForOne() {
    asked++;
    request(1);
  }

  void askForAll() {
    asked = Long.MAX_VALUE;
    requestUnbounded();
  }

  long received() {
    return received;
  }

  long asked() {
    return asked;
  }

  Mono<Void> whenComplete() {
    return complete.asMono();
  }
}
