/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.Op;
import io.lci.internal.loop.Drainable;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;

/**
 * The elements of a bulk operator that are operations of their own and under way, oldest first:
 * waiting, posted, or in the array; at most a window full. The end of each is a result instead of
 * signals. The attempts are linked through themselves, for a hash of each would cost a tenth of the
 * time of a short operation. Loop only.
 *
 * @param <T> element
 */
abstract class LiveElements<T> extends Purpose {
  private final BulkRun<T, ?> run;
  private @Nullable OpAttempt<?> first;
  private @Nullable OpAttempt<?> last;

  LiveElements(BulkRun<T, ?> run) {
    this.run = run;
  }

  /** An element ended, and is under way no more. */
  abstract void over(OpAttempt<?> attempt, T item);

  /** An operation for an element; {@link #enter} posts it. */
  @SuppressWarnings("unchecked") // nothing is emitted to the subscriber
  final OpAttempt<?> attempt(T item, Op op) {
    CoreSubscriber<Object> actual = (CoreSubscriber<Object>) run.actual;
    return new OpAttempt<>(run.outbox, actual, op, this, item);
  }

  /** Posts it. */
  final void enter(OpAttempt<?> attempt, @Nullable Duration deadline) {
    add(attempt);
    attempt.start(deadline);
  }

  final void cancelAll() {
    for (OpAttempt<?> attempt : all()) {
      attempt.cancel();
    }
  }

  /** Takes back what the core has not accepted; the rest stays under way. */
  final void cancelWaiting() {
    for (OpAttempt<?> attempt : all()) {
      if (!attempt.isPosted()) {
        attempt.cancel();
      }
    }
  }

  /** The element of an attempt of this. */
  @SuppressWarnings("unchecked") // the attempt was made for one
  final T item(OpAttempt<?> attempt) {
    return (T) attempt.item();
  }

  @Override
  final void drain(OpAttempt<?> attempt) {} // the operator has the signals

  @Override
  final Drainable drainable(OpAttempt<?> attempt) {
    return run;
  }

  @Override
  final void ended(OpAttempt<?> attempt) {
    remove(attempt);
    over(attempt, item(attempt));
  }

  @Override
  final void withdrawn(OpAttempt<?> attempt) {
    run.discard(item(attempt));
  }

  @Override
  final boolean wants() {
    return run.isWanting();
  }

  private void add(OpAttempt<?> attempt) {
    OpAttempt<?> previous = last;
    attempt.before = previous;
    if (previous == null) {
      first = attempt;
    } else {
      previous.after = attempt;
    }
    last = attempt;
  }

  private void remove(OpAttempt<?> attempt) {
    OpAttempt<?> previous = attempt.before;
    OpAttempt<?> next = attempt.after;
    if (previous == null) {
      first = next;
    } else {
      previous.after = next;
      attempt.before = null;
    }
    if (next == null) {
      last = previous;
    } else {
      next.before = previous;
      attempt.after = null;
    }
  }

  /** {@return a copy: what is cancelled leaves} */
  private List<OpAttempt<?>> all() {
    List<OpAttempt<?>> all = new ArrayList<>();
    for (OpAttempt<?> attempt = first; attempt != null; attempt = attempt.after) {
      all.add(attempt);
    }
    return all;
  }
}
