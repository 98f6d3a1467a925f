/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import java.util.concurrent.atomic.AtomicInteger;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/** Counts the signals that a subscriber gets, and what was discarded on its behalf. */
final class Seen<T> implements CoreSubscriber<T> {
  final AtomicInteger elements = new AtomicInteger();
  final AtomicInteger ends = new AtomicInteger();
  final AtomicInteger errors = new AtomicInteger();
  final AtomicInteger discarded = new AtomicInteger();
  final AtomicInteger afterTheEnd = new AtomicInteger();
  volatile Subscription subscription;

  private final Context context =
      Operators.enableOnDiscard(Context.empty(), item -> discarded.incrementAndGet());

  @Override
  public Context currentContext() {
    return context;
  }

  @Override
  public void onSubscribe(Subscription s) {
    subscription = s;
  }

  @Override
  public void onNext(T value) {
    elements.incrementAndGet();
    if (ends.get() > 0) {
      afterTheEnd.incrementAndGet();
    }
  }

  @Override
  public void onError(Throwable error) {
    errors.incrementAndGet();
    ends.incrementAndGet();
  }

  @Override
  public void onComplete() {
    ends.incrementAndGet();
  }
}
