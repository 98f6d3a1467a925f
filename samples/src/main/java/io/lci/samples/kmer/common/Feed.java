/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.common;

import java.util.Objects;
import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/**
 * Items of one thread as a publisher: {@link #put} waits until the subscriber has asked for more.
 * So a slow receiver anywhere slows the thread down, and nothing piles up in between. For one
 * subscriber.
 *
 * @param <T> type of item
 */
public final class Feed<T> implements Publisher<T>, Subscription {
  private final Consumer<Feed<T>> begin;
  private final AtomicBoolean begun = new AtomicBoolean();
  private final AtomicLong demand = new AtomicLong();
  private volatile @Nullable Subscriber<? super T> subscriber;
  private volatile @Nullable Thread waiting;
  private volatile boolean cancelled;

  /**
   * @param begin called once, at the first request: makes a thread bring items
   */
  public Feed(Consumer<Feed<T>> begin) {
    this.begin = begin;
  }

  @Override
  public void subscribe(Subscriber<? super T> actual) {
    if (subscriber != null) {
      throw new IllegalStateException("A feed has one subscriber.");
    }
    subscriber = actual;
    actual.onSubscribe(this);
  }

  /**
   * Hands an item to the subscriber; waits for demand.
   *
   * @throws CancellationException if the subscriber has cancelled
   * @throws InterruptedException if the thread was interrupted
   */
  public void put(T item) throws InterruptedException {
    awaitDemand();
    demand.decrementAndGet();
    subscriber().onNext(item);
  }

  /** No more items will come. */
  public void complete() {
    if (!cancelled) {
      subscriber().onComplete();
    }
  }

  /** No more items will come, for this reason. */
  public void fail(Throwable reason) {
    if (!cancelled) {
      subscriber().onError(reason);
    }
  }

  private Subscriber<? super T> subscriber() {
    return Objects.requireNonNull(subscriber);
  }

  private void awaitDemand() throws InterruptedException {
    waiting = Thread.currentThread();
    while (demand.get() == 0 && !cancelled) {
      LockSupport.park(this);
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
    }
    waiting = null;
    if (cancelled) {
      throw new CancellationException("the receiver has cancelled");
    }
  }

  @Override
  public void request(long n) {
    demand.getAndUpdate(d -> d + n < 0 ? Long.MAX_VALUE : d + n);
    if (begun.compareAndSet(false, true)) {
      begin.accept(this);
    }
    LockSupport.unpark(waiting);
  }

  @Override
  public void cancel() {
    cancelled = true;
    LockSupport.unpark(waiting);
  }
}
