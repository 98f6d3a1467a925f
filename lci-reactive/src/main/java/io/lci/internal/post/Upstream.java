/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.LoopTask;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Exceptions;
import reactor.core.Fuseable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Operators;
import reactor.util.concurrent.Queues;
import reactor.util.context.Context;

/**
 * The source of a bulk operator. It may signal on any thread: on the loop's own its elements go
 * straight into the submission array, from elsewhere they hop through a queue of the window's size.
 * A source that offers synchronous fusion has its elements fetched instead.
 *
 * @param <T> element
 */
final class Upstream<T> implements CoreSubscriber<T> {
  @SuppressWarnings("rawtypes")
  private static final AtomicIntegerFieldUpdater<Upstream> SIGNALLED =
      AtomicIntegerFieldUpdater.newUpdater(Upstream.class, "signalled");

  private final BulkRun<T, ?> run;
  private final EventLoop loop;
  private final int window;
  private @Nullable Subscription subscription;
  private Fuseable.@Nullable QueueSubscription<T> fused;
  private final Queue<T> queue;
  private volatile int signalled;
  private volatile boolean done;
  private volatile boolean cancelled;
  private volatile @Nullable Throwable error;

  /** Where the first request stands; see {@link #askFirst()}. */
  private volatile First first = First.NOT_YET;

  private enum First {
    /** Upstream is just handing over its subscription: the loop asks for nothing. */
    NOT_YET,
    /** Nothing was wanted yet: the loop asks when something is. */
    DUE,
    /** A thread asks, and the loop does not at the same time (Reactive Streams 2.7). */
    UNDER_WAY,
    MADE
  }

  /** Elements that were requested. Loop only, but for the first window. */
  private long requested;

  Upstream(BulkRun<T, ?> run, int window) {
    this.run = run;
    this.loop = run.loop;
    this.window = window;
    this.queue = Queues.<T>get(window).get();
  }

  // Its signals, any thread

  /** Subscribes to a source; what that throws is for the operator's subscriber. */
  void subscribeTo(Publisher<? extends T> items) {
    try {
      Flux.<T>from(items).subscribe(this);
    } catch (Throwable e) {
      Exceptions.throwIfJvmFatal(e);
      broken(e);
    }
  }

  @Override
  @SuppressWarnings("unchecked") // a queue subscription of upstream carries its type
  public void onSubscribe(Subscription s) {
    if (s == null) {
      throw broughtNull("subscription");
    }
    if (!Operators.validate(subscription, s)) {
      return;
    }
    subscription = s;
    if (s instanceof Fuseable.QueueSubscription<?> candidate) {
      Fuseable.QueueSubscription<T> source = (Fuseable.QueueSubscription<T>) candidate;
      if (source.requestFusion(Fuseable.SYNC | Fuseable.THREAD_BARRIER) == Fuseable.SYNC) {
        fused = source;
      }
    }
    if (fused != null) {
      first = First.MADE; // the loop fetches what it wants
      run.begin();
    } else {
      run.occupy(window); // booked before the loop knows of this
      requested = window;
      run.begin();
      askFirst();
    }
  }

  /**
   * Asks for the first window at once if something is wanted already: a source that does not wait
   * for demand, such as a clock, may emit as soon as it has been subscribed to.
   */
  private void askFirst() {
    if (run.hasDemand()) {
      first = First.UNDER_WAY;
      askFor(window);
      first = First.MADE;
    } else {
      first = First.DUE;
    }
    signalLoop(); // it has left the asking to this thread
  }

  private void askFor(int items) {
    try {
      Objects.requireNonNull(subscription).request(items);
    } catch (Throwable e) { // a source must not; whoever waits for its items is to hear of it
      Exceptions.throwIfJvmFatal(e);
      broken(e);
    }
  }

  @Override
  public void onNext(T item) {
    if (item == null) {
      throw broughtNull("item");
    }
    if (done) {
      Operators.onNextDropped(item, currentContext());
    } else if (loop.inLoop() && queue.isEmpty() && !loop.isInBatch()) {
      run.take(item);
    } else if (queue.offer(item)) {
      signalLoop();
    } else {
      overflow(item);
    }
  }

  @Override
  public void onError(Throwable reason) {
    if (reason == null) {
      throw broughtNull("error");
    }
    if (done) {
      Operators.onErrorDropped(reason, currentContext());
      return;
    }
    error = reason;
    done = true;
    signalLoop();
  }

  @Override
  public void onComplete() {
    done = true;
    signalLoop();
  }

  @Override
  public Context currentContext() {
    return run.actual.currentContext();
  }

  /** For upstream, which hears of it as the subscriber does (Reactive Streams 2.13). */
  private NullPointerException broughtNull(String signal) {
    NullPointerException reason =
        new NullPointerException("upstream brought null as its " + signal);
    broken(reason);
    return reason;
  }

  /** Upstream has failed in a way that is no signal: it is left, and the subscriber is told. */
  private void broken(Throwable reason) {
    if (reason == error) {
      return; // upstream let through what was thrown at it
    }
    if (subscription == null) {
      onSubscribe(Operators.emptySubscription());
    }
    if (!done) {
      cancel();
    }
    onError(reason);
  }

  /** More than was asked for: there is no room for it, and no trust in what follows. */
  void overflow(T item) {
    run.discard(item);
    if (!done) {
      cancel();
      onError(Exceptions.failWithOverflow("upstream emitted more than was requested"));
    }
  }

  private void signalLoop() {
    if (loop.inLoop()) {
      run.schedule();
    } else if (SIGNALLED.compareAndSet(this, 0, 1)) {
      loop.execute(
          new LoopTask() {
            @Override
            public void run() {
              run.schedule();
            }

            @Override
            public void rejected() {
              signalled = 0;
              run.rejected();
              discardQueue(); // also what came after the end
            }
          });
    }
  }

  // The loop

  /** The loop looks now: later signals are to tell it again. */
  void look() {
    signalled = 0;
  }

  /** Whether its elements are fetched. */
  boolean isFused() {
    return fused != null;
  }

  /** Whether nothing comes any more. */
  boolean isExhausted() {
    return done && queue.isEmpty();
  }

  boolean isDone() {
    return done;
  }

  @Nullable Throwable error() {
    return error;
  }

  /** Whether one more element was asked for than the {@code received} ones. */
  boolean mayBring(long received) {
    First stand = first;
    return stand != First.NOT_YET && stand != First.DUE && received != requested;
  }

  /** The next element of a fused source; null if there is none, and it is done. */
  @Nullable T fetch() {
    T item;
    try {
      item = Objects.requireNonNull(fused).poll();
    } catch (Throwable e) {
      Exceptions.throwIfJvmFatal(e);
      cancel(); // it does not know that it is over
      error = e;
      done = true;
      return null;
    }
    if (item == null) {
      done = true;
      return null;
    }
    requested++;
    return item;
  }

  /** Hands on what came from elsewhere. */
  void handOver() {
    for (T item = queue.poll(); item != null; item = queue.poll()) {
      run.take(item);
    }
  }

  /** Asks for what the window can hold, if that is worth it. */
  void requestMore() {
    if (done || run.isOver()) {
      return;
    }
    if (first == First.DUE) {
      first = First.MADE;
      askFor(window); // they are booked
    }
    int free = run.free();
    if (first == First.MADE && free >= Math.max(1, window >> 2)) {
      run.occupy(free);
      requested += free;
      askFor(free);
    }
  }

  /** Once: at a close it comes before the end. */
  void cancel() {
    if (!cancelled) {
      cancelled = true;
      loop.guarded(Objects.requireNonNull(subscription)::cancel);
    }
  }

  void discardQueue() {
    Operators.onDiscardQueueWithClear(queue, currentContext(), null);
  }

  /** Nothing that it holds is taken any more. */
  void clear() {
    discardQueue();
    if (fused != null) {
      fused.clear();
    }
  }
}
