/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.completion.Completion;
import org.jspecify.annotations.Nullable;

/** An operation of a subscriber: posted at its first request, and its end is the signals. */
public final class OpResult extends Purpose {
  public static final OpResult COMPLETION = new OpResult(true, false);
  public static final OpResult MESSAGE = new OpResult(false, true);
  public static final OpResult NOTHING = new OpResult(false, false);

  private final boolean showsCompletion;
  private final boolean showsMessage;

  private OpResult(boolean showsCompletion, boolean showsMessage) {
    this.showsCompletion = showsCompletion;
    this.showsMessage = showsMessage;
  }

  @Override
  void drain(OpAttempt<?> attempt) {
    if (attempt.isOver()) {
      return;
    }
    if (attempt.isNew() && attempt.demand > 0) {
      attempt.start(attempt.op.deadline());
    } else if (attempt.hasEnded()) {
      signal(attempt);
    }
  }

  @Override
  void ended(OpAttempt<?> attempt) {
    attempt.schedule();
  }

  private void signal(OpAttempt<?> attempt) {
    Throwable error = attempt.failure();
    if (error != null) {
      attempt.fail(error);
      return;
    }
    Completion value = attempt.takeCompletion();
    attempt.succeed(value == null ? null : shown(value));
  }

  private @Nullable Object shown(Completion value) {
    if (showsCompletion) {
      return value;
    }
    return showsMessage ? value.message() : null;
  }
}
