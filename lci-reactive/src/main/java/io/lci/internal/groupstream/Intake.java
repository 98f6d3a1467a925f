/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.groupstream;

import io.lci.internal.loop.Drainable;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.LoopTask;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Exceptions;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Operators;
import reactor.util.concurrent.Queues;
import reactor.util.context.Context;

/** The source of a member: it may signal on any thread, and its items are taken on the loop. */
final class Intake<T> implements CoreSubscriber<T> {
  private static final int LINK = 256;

  private final EventLoop loop;
  private final Drainable stream;
  private final Context context;
  private final Consumer<? super T> discard;
  private final Queue<T> queue = Queues.<T>unbounded(LINK).get();
  private final AtomicBoolean signalled = new AtomicBoolean();
  private volatile @Nullable Subscription subscription;
  private volatile @Nullable Throwable error;
  private volatile boolean done;
  private volatile boolean cancelled;

  /** Items that were asked for, and did not come. Loop only. */
  private long awaited;

  /**
   * @param stream drained when there is something to take
   * @param discard gets what is not taken; any thread
   */
  Intake(EventLoop loop, Drainable stream, Context context, Consumer<? super T> discard) {
    this.loop = loop;
    this.stream = stream;
    this.context = context;
    this.discard = discard;
  }

  /** On the loop. */
  void subscribeTo(Publisher<? extends T> source) {
    try {
      Flux.<T>from(source).subscribe(this);
    } catch (Throwable e) {
      Exceptions.throwIfJvmFatal(e);
      broken(e);
    }
  }

  // Its signals, any thread

  @Override
  public void onSubscribe(Subscription s) {
    if (s == null) {
      throw broughtNull("subscription");
    }
    if (!Operators.validate(subscription, s)) {
      return;
    }
    subscription = s;
    if (cancelled) {
      loop.guarded(s::cancel);
    } else {
      signalLoop();
    }
  }

  @Override
  public void onNext(T item) {
    if (item == null) {
      throw broughtNull("item");
    }
    if (done) {
      Operators.onNextDropped(item, context);
    } else {
      queue.offer(item);
      signalLoop();
    }
  }

  @Override
  public void onError(Throwable reason) {
    if (reason == null) {
      throw broughtNull("error");
    }
    if (done) {
      Operators.onErrorDropped(reason, context);
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
    return context;
  }

  private NullPointerException broughtNull(String signal) {
    NullPointerException reason =
        new NullPointerException("the source brought null as its " + signal);
    broken(reason);
    return reason;
  }

  /** It has failed in a way that is no signal: it is left. */
  private void broken(Throwable reason) {
    if (reason == error) {
      return; // it let through what was thrown at it
    }
    if (!done) {
      cancel();
      onError(reason);
    }
  }

  private void signalLoop() {
    if (loop.inLoop() && !loop.isDisposed()) {
      loop.markReady(stream);
    } else if (signalled.compareAndSet(false, true)) {
      loop.execute(
          new LoopTask() {
            @Override
            public void run() {
              signalled.set(false);
              loop.markReady(stream);
            }

            @Override
            public void rejected() {
              signalled.set(false);
              discardQueue();
            }
          });
    }
  }

  // Loop

  /** Whether it can be asked. */
  boolean isThere() {
    return subscription != null && !done && !cancelled;
  }

  void request(int items) {
    Subscription source = subscription;
    if (source != null) {
      awaited += items;
      try {
        source.request(items);
      } catch (Throwable e) {
        Exceptions.throwIfJvmFatal(e);
        broken(e);
      }
    }
  }

  /** The next item; null if there is none yet. More of them than were asked for are an error. */
  @Nullable T poll() {
    T item = queue.poll();
    if (item != null && --awaited < 0) {
      discard.accept(item);
      throw Exceptions.failWithOverflow("the source emitted more than was requested");
    }
    return item;
  }

  /** Whether it has ended; then what it brought is in the queue. Asked before it is polled. */
  boolean hasEnded() {
    return done;
  }

  @Nullable Throwable error() {
    return error;
  }

  /** Takes nothing more of it. */
  void cancel() {
    if (!cancelled) {
      cancelled = true;
      Subscription source = subscription;
      if (source != null && !done) {
        loop.guarded(source::cancel);
      }
    }
  }

  void discardQueue() {
    for (T item = queue.poll(); item != null; item = queue.poll()) {
      discard.accept(item);
    }
  }
}
