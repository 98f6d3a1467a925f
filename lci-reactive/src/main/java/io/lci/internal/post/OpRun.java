/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.Op;
import io.lci.completion.Completion;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;

/** One subscription of an operation: posted at its first request. */
public final class OpRun<T> extends OpAttempt<T> {
  /** What the subscriber gets. */
  public enum Result {
    COMPLETION,
    MESSAGE,
    NOTHING
  }

  private final Result result;

  OpRun(Outbox outbox, CoreSubscriber<? super T> actual, Op op, Result result) {
    super(outbox, actual, op, op.deadline());
    this.result = result;
  }

  @Override
  public void drain() {
    if (isOver()) {
      return;
    }
    if (isNew() && demand > 0) {
      start();
    } else if (hasEnded()) {
      signal();
    }
  }

  @Override
  void ended() {
    schedule();
  }

  @SuppressWarnings("unchecked") // T is what result says, by construction
  private void signal() {
    Throwable error = failure();
    if (error != null) {
      fail(error);
      return;
    }
    Completion value = takeCompletion();
    Object item = value == null ? null : shown(value);
    if (item != null) {
      emit((T) item);
    }
    complete();
  }

  private @Nullable Object shown(Completion value) {
    return switch (result) {
      case COMPLETION -> value;
      case MESSAGE -> value.message();
      case NOTHING -> null;
    };
  }
}
