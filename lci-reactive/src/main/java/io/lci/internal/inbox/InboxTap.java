/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.inbox;

import io.lci.am.Message;
import io.lci.am.MessageView;
import io.lci.internal.lane.RecordView;
import io.lci.internal.loop.LoopSubscription;
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
 * A subscription of an inbox. Its {@link Intake} makes elements of the messages.
 *
 * <p>Operators with a queue of their own ({@code publishOn}, {@code limitRate}, {@code concatMap})
 * may use the tap in its place, by asynchronous fusion, where the intake allows it. Without fusion
 * the tap emits as any other subscription.
 *
 * <p>Where the operator drains on the loop's thread, there is no queue at all: told of one message,
 * it polls all that lie behind it in the completion ring, and what it does not poll stays a message
 * of the inbox. Where it drains elsewhere, or has no demand, elements are queued, and it is told of
 * all that a turn brought at once.
 *
 * <p>{@code poll} is called by one thread at a time, as the operator orders that by its {@code
 * onNext}; but {@code clear} by any, at the same time as another polls or clears: after a cancel of
 * an operator, a thread that tells it of more clears, too. So each element goes to one of them
 * alone.
 */
final class InboxTap<T> extends LoopSubscription<T> implements Fuseable.QueueSubscription<T> {
  private final Delivery delivery;
  private final Intake<T> intake;

  /** With fusion. Set before the first request, and so before anything comes. */
  private @Nullable Queue<T> queue;

  // Loop only

  /** The message that the operator is being told of, until it polls it. */
  private @Nullable MessageView told;

  /** The operator, told of the first message, takes messages itself. */
  private boolean pulling;

  /** What comes goes into the queue, since the operator did not poll at once. */
  private boolean queueing;

  /** Something was queued and not told yet. */
  private boolean offered;

  /** What ends the loop, thrown while an operator polled: it would never get over it. */
  private @Nullable Throwable fatal;

  InboxTap(Delivery delivery, CoreSubscriber<? super T> actual, Intake<T> intake) {
    super(delivery.loop(), actual);
    this.delivery = delivery;
    this.intake = intake;
  }

  /** How many messages it can take now. */
  long allowance() {
    return intake.allowance(this);
  }

  /** Whether messages are to stay where they lie until they are released. */
  boolean keepsMessages() {
    return intake.keepsMessages();
  }

  /** Takes one message; there is demand. */
  void message(MessageView view) {
    if (queue == null) {
      T value = intake.take(this, view);
      if (value != null) {
        emit(value);
      }
    } else if (queueing) {
      enqueue(view);
    } else {
      offer(view);
    }
  }

  /** Nothing more is there for now: hands on what the intake has collected. */
  void settle() {
    if (!isOver()) {
      T rest = intake.rest();
      if (rest != null) {
        emit(rest);
      }
    }
  }

  /** Ends with an error; what comes next is for the next subscriber. */
  void pauseAndFail(Throwable reason) {
    delivery.pause(this);
    fail(reason);
  }

  /** Messages that were taken and not handed on are for the next subscriber. */
  void keepAgain(List<Message> messages) {
    delivery.keepAgain(messages);
  }

  @Override
  public void drain() {
    if (offered) {
      offered = false;
      if (isCancelled()) {
        clear(); // the operator may have cleared before this came
      } else if (!terminated) { // its end has told the operator of all
        tell();
      }
    }
    if (!isOver()) {
      delivery.serve(this);
    }
  }

  @Override
  public void onCancel() {
    intake.cancelled(this);
    delivery.left(this);
  }

  @Override
  public String subscriber() {
    String name = intake.name();
    return name == null ? super.subscriber() : name;
  }

  // With fusion

  /** Tells of a message, and is polled meanwhile; if not, it is queued. */
  private void offer(MessageView view) {
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
      delivery.keepAgain(List.of(view.copy())); // cancel is pause
    } else {
      queueing = true;
      enqueue(view);
    }
  }

  private void enqueue(MessageView view) {
    T value = intake.take(this, view);
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

  @Override
  public int requestFusion(int mode) {
    if ((mode & Fuseable.ASYNC) == 0 || !intake.isFusable()) {
      return Fuseable.NONE;
    }
    queue = new ConcurrentLinkedQueue<>();
    return Fuseable.ASYNC;
  }

  @Override
  public @Nullable T poll() {
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
        view = delivery.next(this);
      }
      return view == null ? null : takeNow(view);
    } catch (Throwable e) { // a decoder's own error has ended the subscription already
      fatal = e;
      return null;
    }
  }

  private @Nullable T takeNow(MessageView view) {
    T value = intake.take(this, view);
    if (view instanceof RecordView ended) {
      ended.invalidate();
    }
    if (value != null) {
      taken();
    }
    return value;
  }

  @Override
  public boolean isEmpty() {
    return !(loop.inLoop() && told != null) && queue().isEmpty();
  }

  @Override
  public int size() {
    return queue().size();
  }

  /** What is queued was taken, so nobody else gets it. */
  @Override
  public void clear() {
    Operators.onDiscardQueueWithClear(queue(), actual.currentContext(), null);
  }

  private Queue<T> queue() {
    return Objects.requireNonNull(queue, "fusion was not asked for");
  }
}
