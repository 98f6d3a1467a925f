/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.inbox;

import io.lci.am.MessageView;
import io.lci.internal.lane.RecordView;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.Exceptions;
import reactor.core.Fuseable;
import reactor.core.publisher.Operators;

/**
 * A tap that operators with a queue of their own ({@code publishOn}, {@code limitRate}, {@code
 * concatMap}) may use in its place, by asynchronous fusion. Without it, it emits as any other.
 *
 * <p>Where the operator drains on the loop's thread, there is no queue at all: told of one message,
 * it polls all that lie behind it in the completion ring, and what it does not poll stays a message
 * of the inbox. Where it drains elsewhere, or has no demand, elements are queued, and it is told of
 * all that a turn brought at once.
 *
 * <p>{@code poll} is called by one thread at a time, as the operator orders that by its {@code
 * onNext}; but {@code clear} by any, at the same time as another polls or clears: where an operator
 * was cancelled, whoever tells it of more clears, too. So each element goes to one of them alone.
 */
abstract class FusingTap<T> extends InboxTap<T> implements Fuseable.QueueSubscription<T> {
  /** Set before the first request, and so before anything comes. */
  private @Nullable Queue<T> queue;

  // Loop only

  /** The message that the operator is being told of, until it polls it. */
  private @Nullable MessageView told;

  /** Messages are taken by who is told of the first. */
  private boolean pulling;

  /** What comes goes into the queue, since somebody did not poll at once. */
  private boolean queueing;

  /** Something was queued and not told yet. */
  private boolean offered;

  /** What ends the loop, thrown while an operator polled: it would never get over it. */
  private @Nullable Throwable fatal;

  FusingTap(InboxImpl inbox, CoreSubscriber<? super T> actual) {
    super(inbox, actual);
  }

  /** What to hand on of a message; null if that failed, and the subscription with it. */
  abstract @Nullable T take(MessageView view);

  @Override
  final void message(MessageView view) {
    if (queue == null) {
      T value = take(view);
      if (value != null) {
        emit(value);
      }
    } else if (queueing) {
      enqueue(view);
    } else {
      lend(view);
    }
  }

  /** Tells of a message, and is polled meanwhile; if not, it is queued. */
  private void lend(MessageView view) {
    told = view;
    pulling = true;
    try {
      tell();
    } finally {
      pulling = false;
    }
    if (fatal != null) {
      throw Exceptions.propagate(fatal);
    }
    if (told == null) {
      return;
    }
    told = null;
    if (isOver()) {
      inbox.keepAgain(List.of(view.copy())); // cancel is pause
    } else {
      queueing = true;
      enqueue(view);
    }
  }

  private void enqueue(MessageView view) {
    T value = take(view);
    if (value != null) {
      taken();
      queue().offer(value);
      if (!offered) {
        offered = true;
        schedule();
      }
    }
  }

  private void taken() {
    if (demand != Long.MAX_VALUE) {
      demand--;
    }
  }

  @Override
  public final void drain() {
    if (offered) {
      offered = false;
      if (isCancelled()) {
        clear(); // who has cancelled may have cleared before this came
      } else if (!terminated) { // its end has told him of all
        tell();
      }
    }
    super.drain();
  }

  @SuppressWarnings({"DataFlowIssue", "NullAway"}) // the protocol: what there is, is polled
  private void tell() {
    try {
      actual.onNext(null);
    } catch (Throwable e) { // as in emit
      Exceptions.throwIfJvmFatal(e);
      loop.uncaught(e);
      cancel();
    }
  }

  // For the operator

  @Override
  public final int requestFusion(int mode) {
    if ((mode & Fuseable.ASYNC) == 0) {
      return Fuseable.NONE;
    }
    queue = new ConcurrentLinkedQueue<>();
    return Fuseable.ASYNC;
  }

  @Override
  public final @Nullable T poll() {
    boolean inLoop = loop.inLoop();
    if (inLoop && pulling) {
      return pull();
    }
    T value = queue().poll();
    if (value == null && inLoop) {
      queueing = false;
    }
    return value;
  }

  private @Nullable T pull() {
    if (fatal != null) {
      return null;
    }
    try {
      MessageView view = told;
      told = null;
      if (view == null) {
        view = inbox.next(this);
      }
      return view == null ? null : takeNow(view);
    } catch (Throwable e) { // a decoder's own error has ended the subscription already
      fatal = e;
      return null;
    }
  }

  private @Nullable T takeNow(MessageView view) {
    T value = take(view);
    if (view instanceof RecordView ended) {
      ended.invalidate();
    }
    if (value != null) {
      taken();
    }
    return value;
  }

  @Override
  public final boolean isEmpty() {
    return !(loop.inLoop() && told != null) && queue().isEmpty();
  }

  @Override
  public final int size() {
    return queue().size();
  }

  /** What is queued was taken, so nobody else gets it. */
  @Override
  public final void clear() {
    Operators.onDiscardQueueWithClear(queue(), actual.currentContext(), null);
  }

  private Queue<T> queue() {
    return Objects.requireNonNull(queue, "fusion was not asked for");
  }
}
