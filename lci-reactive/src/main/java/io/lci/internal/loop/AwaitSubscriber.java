/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import org.jspecify.annotations.Nullable;
import reactor.core.Exceptions;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.SignalType;

/** Keeps the one value of a Mono for a thread that drives a loop meanwhile. */
final class AwaitSubscriber<T> extends BaseSubscriber<T> {
  private final EventLoop loop;
  private volatile boolean done;
  private volatile @Nullable T value;
  private volatile @Nullable Throwable error;

  AwaitSubscriber(EventLoop loop) {
    this.loop = loop;
  }

  @Override
  protected void hookOnNext(T item) {
    value = item;
  }

  @Override
  protected void hookOnError(Throwable failure) {
    error = failure;
  }

  @Override
  protected void hookFinally(SignalType type) {
    done = true;
    if (!loop.inLoop()) {
      loop.execute(() -> {}); // it may sleep
    }
  }

  boolean isDone() {
    return done;
  }

  @Nullable T get() {
    Throwable failure = error;
    if (failure != null) {
      RuntimeException unchecked = Exceptions.propagate(failure);
      unchecked.addSuppressed(new Exception("await ended with an error"));
      throw unchecked;
    }
    return value;
  }
}
