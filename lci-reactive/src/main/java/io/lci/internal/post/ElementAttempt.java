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
 * An element of a bulk operator that is an operation of its own: its end is a result instead of
 * signals.
 *
 * @param <T> element
 */
abstract class ElementAttempt<T> extends OpAttempt<Object> {
  final T item;
  private final BulkRun<T, ?> run;
  private final Live<T> live;
  private @Nullable ElementAttempt<T> before;
  private @Nullable ElementAttempt<T> after;

  @SuppressWarnings("unchecked") // nothing is emitted to it
  ElementAttempt(BulkRun<T, ?> run, Live<T> live, T item, Op op, @Nullable Duration deadline) {
    super(run.outbox, (CoreSubscriber<Object>) run.actual, op, deadline);
    this.run = run;
    this.live = live;
    this.item = item;
  }

  /** It ended, and is under way no more: {@link #failure()} or {@link #takeCompletion()}. */
  abstract void over();

  /** Posts it. */
  final void enter() {
    live.add(this);
    start();
  }

  @Override
  final void ended() {
    live.remove(this);
    over();
  }

  @Override
  public final void drain() {} // the operator has the signals

  @Override
  public final Drainable drainable() {
    return run;
  }

  @Override
  public final boolean wants(Object ignored) {
    return run.isWanting() && super.wants(ignored);
  }

  @Override
  final void withdrawn() {
    run.discard(item);
  }

  /**
   * The elements of an operator that are under way, oldest first: parked, posted, or in the array;
   * at most a window full. Linked through them, for a hash of each would cost a tenth of the time
   * of a short operation. Loop only.
   *
   * @param <T> element
   */
  static final class Live<T> {
    private @Nullable ElementAttempt<T> first;
    private @Nullable ElementAttempt<T> last;

    private void add(ElementAttempt<T> element) {
      ElementAttempt<T> previous = last;
      element.before = previous;
      if (previous == null) {
        first = element;
      } else {
        previous.after = element;
      }
      last = element;
    }

    private void remove(ElementAttempt<T> element) {
      ElementAttempt<T> previous = element.before;
      ElementAttempt<T> next = element.after;
      if (previous == null) {
        first = next;
      } else {
        previous.after = next;
        element.before = null;
      }
      if (next == null) {
        last = previous;
      } else {
        next.before = previous;
        element.after = null;
      }
    }

    /** {@return a copy: what is cancelled leaves} */
    List<ElementAttempt<T>> all() {
      List<ElementAttempt<T>> all = new ArrayList<>();
      for (ElementAttempt<T> element = first; element != null; element = element.after) {
        all.add(element);
      }
      return all;
    }
  }
}
