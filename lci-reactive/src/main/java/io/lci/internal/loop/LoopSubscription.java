/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.atomic.AtomicLongFieldUpdater;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Exceptions;
import reactor.core.Scannable;
import reactor.core.publisher.Operators;

/**
 * A subscription whose signals all come from its loop's drain: request and cancel hop there from
 * any thread. Subclasses work on the loop only and emit in {@link #drain()} only, so signals are
 * serial and never nested.
 */
public abstract class LoopSubscription<T> extends Drainable implements Subscription, LoopTask {
  @SuppressWarnings("rawtypes")
  private static final AtomicLongFieldUpdater<LoopSubscription> PENDING =
      AtomicLongFieldUpdater.newUpdater(LoopSubscription.class, "pending");

  @SuppressWarnings("rawtypes")
  private static final AtomicIntegerFieldUpdater<LoopSubscription> CANCELLED =
      AtomicIntegerFieldUpdater.newUpdater(LoopSubscription.class, "cancelled");

  public final EventLoop loop;
  public final CoreSubscriber<? super T> actual;

  private volatile long pending;
  private volatile int cancelled;
  private volatile boolean badRequest;

  /** Something was requested, whether or not the loop has heard of it. */
  private volatile boolean wanted;

  /** Requested and not yet emitted. Loop only. */
  public long demand;

  /** A terminal signal was sent. Loop only, except after the loop's end. */
  public boolean terminated;

  public LoopSubscription(EventLoop loop, CoreSubscriber<? super T> actual) {
    this.loop = loop;
    this.actual = actual;
  }

  /**
   * Hands itself to its subscriber, and comes to the loop once even if nothing is requested, so
   * that the end is told to who waits with his demand, too. Any thread.
   */
  public final void begin() {
    actual.onSubscribe(this);
    look();
  }

  /** Comes to the loop, to look at what there is to signal. Any thread. */
  protected final void look() {
    if (isDrivenHere()) {
      schedule();
    } else {
      loop.execute(
          new LoopTask() {
            @Override
            public void run() {
              schedule();
            }

            @Override
            public void rejected() {
              LoopSubscription.this.rejected();
            }
          });
    }
  }

  /** Whether this is the loop's thread, and the loop still drains: its thread may outlive it. */
  private boolean isDrivenHere() {
    return loop.inLoop() && !loop.isDisposed();
  }

  @Override
  public final void request(long n) {
    if (n <= 0) {
      badRequest = true;
      loop.execute(this);
      return;
    }
    if (!wanted && !badRequest && cancelled == 0) {
      wanted = true;
    }
    if (isDrivenHere()) {
      grant(n);
    } else if (Operators.addCap(PENDING, this, n) == 0) {
      loop.execute(this);
    }
  }

  @Override
  public final void cancel() {
    if (!CANCELLED.compareAndSet(this, 0, 1)) {
      return;
    }
    if (loop.inLoop() && !loop.isInBatch()) {
      cancelHere();
    } else {
      loop.execute(
          new LoopTask() {
            @Override
            public void run() {
              cancelHere();
            }

            @Override
            public void rejected() {
              onRejected();
            }
          });
    }
  }

  /** What has ended holds nothing any more that could be given back. Loop only. */
  private void cancelHere() {
    if (!terminated) {
      onCancel();
    }
  }

  protected final boolean isCancelled() {
    return cancelled != 0;
  }

  /** Whether anything was ever requested. Any thread. */
  protected final boolean isWanted() {
    return wanted;
  }

  /** Whether no signal may follow. */
  public final boolean isOver() {
    return terminated || cancelled != 0;
  }

  @Override
  public final void run() {
    if (isOver()) {
      return;
    }
    if (badRequest) {
      onCancel();
      fail(new IllegalArgumentException("request must be positive (Reactive Streams 3.9)"));
      return;
    }
    grant(PENDING.getAndSet(this, 0));
  }

  /** The loop has ended: nothing can come any more. */
  @Override
  public final void rejected() {
    if (!isOver()) {
      onRejected();
      fail(loop.closed("subscribe"));
    }
  }

  private void grant(long n) {
    if (!isOver()) {
      demand = Operators.addCap(demand, n);
      onDemand();
    }
  }

  /** Demand came. No signals here: {@link #schedule()} instead. */
  protected void onDemand() {
    schedule();
  }

  /** Cancelled, or about to fail for a bad request: give back what is held. */
  protected abstract void onCancel();

  /** The loop has ended: lets go what is not the loop's. Any thread. */
  protected void onRejected() {}

  /** A graceful close begins: nothing new is taken. No signals here, as in {@link #onDemand}. */
  protected void onClosing() {
    schedule();
  }

  /** Whether a graceful close waits: it has something that its subscriber did not ask for yet. */
  protected boolean holdsClose() {
    return false;
  }

  /** The runtime closes now, and the loop's active subscriptions end. */
  protected void onAbort() {
    onCancel();
    fail(loop.closed("subscribe"));
  }

  public final void schedule() {
    loop.markReady(this);
  }

  protected final void emit(T value) {
    if (demand != Long.MAX_VALUE) {
      demand--;
    }
    try {
      actual.onNext(value);
    } catch (Throwable e) { // he must not, and counts as cancelled then (Reactive Streams 2.13)
      Exceptions.throwIfJvmFatal(e);
      loop.uncaught(e);
      cancel();
    }
  }

  public final void complete() {
    if (!isOver()) {
      terminated = true;
      try {
        actual.onComplete();
      } catch (Throwable e) {
        Exceptions.throwIfJvmFatal(e);
        loop.uncaught(e);
      }
    }
  }

  public final void fail(Throwable error) {
    if (!isOver()) {
      terminated = true;
      try {
        actual.onError(error);
      } catch (Throwable e) {
        Exceptions.throwIfJvmFatal(e);
        loop.uncaught(e);
      }
    }
  }

  @Override
  public String toString() {
    return getClass().getSimpleName() + '(' + subscriber() + ')';
  }

  /** What users may know it by: the name of their operator, or of their subscriber's class. */
  public String subscriber() {
    Scannable known = Scannable.from(actual);
    return known.isScanAvailable() ? known.stepName() : actual.getClass().getName();
  }
}
