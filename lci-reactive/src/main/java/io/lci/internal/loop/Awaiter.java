/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;

/**
 * The subscriber of a call that goes on whatever the demand, and after a cancel: it is told the
 * result on the loop, or that the runtime has closed.
 *
 * @param <T> of the result; a call that has none ends with null
 */
public final class Awaiter<T> extends LoopSubscription<T> {
  // Written before the loop is asked to look
  private @Nullable T result;
  private volatile boolean arrived;
  private volatile @Nullable Throwable failure;

  public Awaiter(EventLoop loop, CoreSubscriber<? super T> actual) {
    super(loop, actual);
  }

  /** The call has ended well. Any thread. */
  public void arrived(@Nullable T value) {
    result = value;
    arrived = true;
    look();
  }

  /** The call has failed. Any thread. */
  public void failed(Throwable reason) {
    failure = reason;
    look();
  }

  @Override
  public void drain() {
    if (isOver()) {
      return;
    }
    loop.activate(this);
    Throwable reason = failure;
    if (reason != null) {
      onCancel();
      fail(reason);
    } else if (arrived && (result == null || demand > 0)) {
      onCancel();
      if (result != null) {
        emit(result);
      }
      complete();
    }
  }

  @Override
  public void onCancel() {
    loop.deactivate(this);
  }
}
