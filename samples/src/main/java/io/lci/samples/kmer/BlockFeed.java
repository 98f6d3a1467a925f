/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer;

import java.util.Objects;
import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/**
 * Blocks of one reader thread as a publisher: {@link #put} waits until the subscriber has asked for
 * more. So a slow receiver anywhere slows the reader down, and nothing piles up in between. For one
 * subscriber.
 */
final class BlockFeed implements Publisher<Block>, Subscription {
  private final AtomicLong demand = new AtomicLong();
  private volatile @Nullable Subscriber<? super Block> subscriber;
  private volatile @Nullable Thread waiting;
  private volatile boolean cancelled;

  @Override
  public void subscribe(Subscriber<? super Block> actual) {
    if (subscriber != null) {
      throw new IllegalStateException("A feed has one subscriber.");
    }
    subscriber = actual;
    actual.onSubscribe(this);
  }

  /**
   * Hands a block to the subscriber; waits for demand.
   *
   * @throws CancellationException if the subscriber has cancelled
   * @throws InterruptedException if the thread was interrupted
   */
  void put(Block block) throws InterruptedException {
    awaitDemand();
    demand.decrementAndGet();
    Objects.requireNonNull(subscriber).onNext(block);
  }

  /** No more blocks will come. */
  void complete() {
    if (!cancelled) {
      Objects.requireNonNull(subscriber).onComplete();
    }
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
      throw new CancellationException("the receiver of the blocks has cancelled");
    }
  }

  @Override
  public void request(long n) {
    demand.getAndUpdate(d -> d + n < 0 ? Long.MAX_VALUE : d + n);
    LockSupport.unpark(waiting);
  }

  @Override
  public void cancel() {
    cancelled = true;
    LockSupport.unpark(waiting);
  }
}
