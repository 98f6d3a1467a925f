/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.completion;

import io.lci.completion.Counter;
import io.lci.error.LciException;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.LoopSubscription;
import io.lci.internal.loop.Nudge;
import java.util.concurrent.ConcurrentHashMap;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;

/**
 * A counter of the core. Whoever signals it is inside an enter of some loop, which then looks at
 * the waiters.
 */
public final class CounterImpl extends CompletionObject implements Counter {
  private final ConcurrentHashMap.KeySetView<Waiter, Boolean> waiters =
      ConcurrentHashMap.newKeySet();

  CounterImpl(CompletionObjects objects, EventLoop loop, long handle) {
    super(objects, loop, handle);
  }

  @Override
  public long get() {
    return core().gate.with(() -> isDisposed() ? 0L : core().calls.counterGet(handle()), 0L);
  }

  @Override
  public void set(long value) {
    core()
        .gate
        .with(
            () -> {
              if (!isDisposed()) {
                core().calls.counterSet(handle(), value);
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
        if (isDisposed()) {
          Operators.error(actual, closed());
        } else {
          new Waiter(actual, value).begin();
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
          waiter.nudge.give();
        }
      }
    }
  }

  private LciException closed() {
    return core().ending.gone("wait for counter", "counter", "Completions.counter makes another");
  }

  @Override
  void free() {
    for (Waiter waiter : waiters) {
      loop.deactivate(waiter);
      waiter.fail(closed());
    }
    waiters.clear();
    objects.forget(this);
  }

  private final class Waiter extends LoopSubscription<Long> {
    private final long threshold;
    private final Nudge nudge = new Nudge(loop, this);

    Waiter(CoreSubscriber<? super Long> actual, long threshold) {
      super(CounterImpl.this.loop, actual);
      this.threshold = threshold;
    }

    @Override
    public void drain() {
      if (isOver()) {
        return;
      }
      if (isDisposed()) {
        onCancel();
        fail(closed());
        return;
      }
      if (waiters.add(this)) {
        loop.activate(this);
      }
      long now = get();
      if (demand > 0 && now >= threshold) {
        onCancel();
        emit(now);
        complete();
      }
    }

    @Override
    public void onCancel() {
      waiters.remove(this);
      loop.deactivate(this);
    }
  }
}
