/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.completion.Counter;
import java.util.concurrent.ConcurrentHashMap;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;

/**
 * A counter of the core. Whoever signals it is inside an enter of some loop, which then looks at
 * the waiters.
 */
final class CounterImpl implements Counter, NativeTarget {
  private final RuntimeImpl runtime;
  private final EventLoop loop;
  private final long handle;
  private final int id;
  private final ConcurrentHashMap.KeySetView<Waiter, Boolean> waiters =
      ConcurrentHashMap.newKeySet();
  private volatile boolean disposed;

  CounterImpl(RuntimeImpl runtime, long handle) {
    this.runtime = runtime;
    this.loop = runtime.loop(0);
    this.handle = handle;
    this.id = runtime.calls().compId(handle);
  }

  @Override
  public int id() {
    return id;
  }

  @Override
  public long handle() {
    return handle;
  }

  @Override
  public long get() {
    return runtime.withCore(() -> disposed ? 0L : runtime.calls().counterGet(handle), 0L);
  }

  @Override
  public void set(long value) {
    runtime.withCore(
        () -> {
          if (!disposed) {
            runtime.calls().counterSet(handle, value);
          }
          return 0L;
        },
        0L);
    look();
  }

  @Override
  public Mono<Long> reaches(long value) {
    return new Mono<>() {
      @Override
      public void subscribe(CoreSubscriber<? super Long> actual) {
        if (disposed) {
          Operators.error(actual, Errors.closed("wait for counter"));
        } else {
          actual.onSubscribe(new Waiter(actual, value));
        }
      }
    };
  }

  /** The count may have moved: any thread. */
  void look() {
    if (waiters.isEmpty()) {
      return;
    }
    if (loop.inLoop()) {
      waiters.forEach(Waiter::schedule);
    } else {
      long now = get();
      for (Waiter waiter : waiters) {
        if (now >= waiter.threshold) {
          loop.execute(waiter::schedule);
        }
      }
    }
  }

  @Override
  public void dispose() {
    if (!disposed) {
      disposed = true;
      loop.execute(this::free);
    }
  }

  @Override
  public boolean isDisposed() {
    return disposed;
  }

  private void free() {
    for (Waiter waiter : waiters) {
      waiter.fail(Errors.closed("wait for counter"));
    }
    waiters.clear();
    runtime.forget(this);
    runtime.freeComp(handle);
  }

  private final class Waiter extends LoopSubscription<Long> {
    private final long threshold;

    Waiter(CoreSubscriber<? super Long> actual, long threshold) {
      super(CounterImpl.this.loop, actual);
      this.threshold = threshold;
    }

    @Override
    void drain() {
      if (isOver()) {
        return;
      }
      if (disposed) {
        fail(Errors.closed("wait for counter"));
        return;
      }
      if (waiters.add(this)) {
        loop.activate(this);
      }
      long now = get();
      if (now >= threshold) {
        onCancel();
        emit(now);
        complete();
      }
    }

    @Override
    void onCancel() {
      waiters.remove(this);
      loop.deactivate(this);
    }
  }
}
