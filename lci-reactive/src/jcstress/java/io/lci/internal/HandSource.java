/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/** A source for one subscriber, whose signals an actor sends by hand. */
public final class HandSource<T> implements Publisher<T>, Subscription {
  private final AtomicLong requested = new AtomicLong();
  private final AtomicInteger cancels = new AtomicInteger();
  private volatile Subscriber<? super T> subscriber;

  @Override
  public void subscribe(Subscriber<? super T> s) {
    subscriber = s;
    s.onSubscribe(this);
  }

  @Override
  public void request(long n) {
    requested.addAndGet(n);
  }

  @Override
  public void cancel() {
    cancels.incrementAndGet();
  }

  /** The one who gets the signals; it has asked for something. */
  public Subscriber<? super T> subscriber() {
    if (requested.get() == 0) {
      throw new IllegalStateException("nothing was requested");
    }
    return Objects.requireNonNull(subscriber);
  }
}
