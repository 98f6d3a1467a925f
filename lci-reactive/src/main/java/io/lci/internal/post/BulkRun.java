/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.PostResult;
import io.lci.completion.Completion;
import io.lci.error.LciException;
import io.lci.internal.core.Thrown;
import io.lci.internal.loop.LoopSubscription;
import java.util.ArrayDeque;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Operators;

/**
 * A bulk operator: takes from its {@link Upstream} what the window can hold, lets its {@link
 * Elements} post that and refused ones wait within the window, and reports.
 *
 * <p>An element occupies the window from its request until it is reported: until its fate is known
 * where nobody asks for results, else until its result was emitted.
 *
 * @param <T> element
 * @param <R> what the subscriber gets: {@link PostResult}, or nothing
 */
final class BulkRun<T, R> extends LoopSubscription<R> {
  final Outbox outbox;
  private final int window;
  private final boolean stopOnError;
  private final Upstream<T> upstream;
  private final Elements<T> elements;

  // Loop only
  private boolean active;
  private boolean started;

  /** Requested from upstream and not reported. */
  private int outstanding;

  /** Elements that came, and those whose fate is known. */
  private long received;

  private long finished;

  /** Elements that ended since the last drain and need no result: they leave the window. */
  private int reported;

  /** An element came when nothing was taken any more: the end must not look complete. */
  private boolean cut;

  private final ArrayDeque<PostResult<T>> results = new ArrayDeque<>();
  private @Nullable Throwable failure;

  BulkRun(
      Outbox outbox,
      CoreSubscriber<? super R> actual,
      int window,
      boolean stopOnError,
      Function<? super BulkRun<T, R>, ? extends Elements<T>> kind) {
    super(outbox.loop, actual);
    this.outbox = outbox;
    this.window = window;
    this.stopOnError = stopOnError;
    this.upstream = new Upstream<>(this, window);
    this.elements = kind.apply(this);
  }

  /** Begins. Any thread. */
  void subscribeTo(Publisher<? extends T> items) {
    upstream.subscribeTo(items);
  }

  // For upstream

  /** Whether something is wanted. Any thread. */
  boolean hasDemand() {
    return isWanted() && !isOver();
  }

  /** So many elements are asked for. */
  void occupy(int places) {
    outstanding += places;
  }

  /** Places of the window that nothing occupies. */
  int free() {
    return window - outstanding;
  }

  void take(T item) {
    if (isOver() || failure != null || loop.isClosing()) {
      cut = true;
      discard(item);
    } else if (upstream.mayBring(received)) {
      received++;
      elements.submit(item);
    } else {
      upstream.overflow(item);
    }
  }

  // The loop

  @Override
  public void drain() {
    upstream.look();
    settle();
    if (isOver()) {
      upstream.discardQueue();
    } else if (failure != null) {
      drainToFailure(failure);
    } else if (loop.isClosing()) {
      finishIfDone();
      if (!isOver() && received == finished && results.isEmpty()) {
        stop(loop.closed(elements.operation()));
      }
    } else {
      work();
    }
  }

  /** What is in the array was submitted before the failure: its results come first. */
  private void drainToFailure(Throwable error) {
    outbox.flush();
    settle();
    if (!isOver() && elements.failureAwaitsResults()) {
      elements.withdrawWaiting();
      if (received > finished) {
        return; // the signal of what was posted brings us back
      }
    }
    if (results.isEmpty() && !isOver()) {
      stop(error);
    }
  }

  private void work() {
    if (!active) {
      active = true;
      loop.activate(this);
    }
    started = started || demand > 0;
    if (!upstream.isFused()) {
      upstream.handOver();
      if (started) {
        upstream.requestMore();
      }
    } else if (started) {
      fetch();
    }
    finishIfDone(); // also before the first demand: upstream's end needs none
  }

  /** What ended leaves the window: at once, or as far as results are requested. */
  private void settle() {
    outstanding -= reported;
    reported = 0;
    while (demand > 0 && !isOver()) {
      PostResult<T> result = results.poll();
      if (result == null) {
        return;
      }
      outstanding--;
      emitResult(result);
    }
  }

  @SuppressWarnings("unchecked") // R is PostResult<T> whenever there are results
  private void emitResult(PostResult<T> result) {
    emit((R) result);
  }

  private void fetch() {
    while (outstanding < window && !isOver() && failure == null && !upstream.isDone()) {
      if (elements.isHeldUp()) {
        return; // the fate of what waits brings us back
      }
      if (outbox.hasPostedEnough()) {
        schedule(); // the rest in the next turn
        return;
      }
      T item = upstream.fetch();
      if (item == null) {
        return;
      }
      outstanding++;
      take(item);
    }
  }

  private void finishIfDone() {
    if (isOver() || cut || !upstream.isExhausted()) {
      return;
    }
    if (received > finished || reported > 0 || !results.isEmpty()) {
      return;
    }
    loop.deactivate(this);
    Throwable error = upstream.error();
    if (error != null) {
      fail(error);
    } else {
      complete();
    }
  }

  // Fates of elements; loop only

  /** Whether a refused element should wait. */
  boolean isWanting() {
    return !isOver() && failure == null;
  }

  /** It was accepted, and nobody asks for its result. */
  void accepted() {
    finished++;
    reported++;
  }

  /** It ended, and nobody is to hear of it. */
  void gone() {
    finished++;
  }

  /** Nobody gets it. */
  void discard(T item) {
    Operators.onDiscard(item, actual.currentContext());
  }

  /** It ended as {@code result} says. */
  void report(PostResult<T> result) {
    finished++;
    if (isOver()) {
      discardLate(result.completion());
    } else if (result.error() != null && stopOnError) {
      discard(result.item());
      if (failure == null) {
        failure = result.error();
      }
      reported++;
    } else {
      results.add(result);
    }
    schedule();
  }

  /** What was posted runs out silently; what it brings is for nobody. */
  private void discardLate(@Nullable Completion late) {
    if (late != null && late.message() != null) {
      Remainder.discard(outbox, late.message(), actual.currentContext());
    }
  }

  /** Errors of operations are of this library. */
  LciException known(RuntimeException reason, int rank, int port, int device) {
    return reason instanceof LciException known
        ? known
        : new LciException(
            new LciException.Detail(
                elements.operation(), rank, port, device, "error_argument", Thrown.text(reason)));
  }

  // Ends

  /** Ends with an error; what the core accepted runs out. */
  private void stop(Throwable error) {
    upstream.cancel();
    giveUp();
    fail(error);
  }

  /** What was taken may go out, and its results be fetched; upstream is to hand on no more. */
  @Override
  public void onClosing() {
    if (!upstream.isDone()) {
      upstream.cancel();
    }
    schedule();
  }

  @Override
  public boolean holdsClose() {
    return !results.isEmpty() && !isOver();
  }

  @Override
  public void onAbort() {
    outbox.lateData += results.size(); // nobody asked for them in time
    stop(loop.closed(elements.operation()));
  }

  @Override
  public void onCancel() {
    upstream.cancel();
    giveUp();
  }

  @Override
  public void onRejected() {
    upstream.cancel();
    upstream.discardQueue();
  }

  private void giveUp() {
    loop.deactivate(this);
    elements.withdraw();
    upstream.clear();
    for (PostResult<T> result : results) {
      Operators.onDiscard(result, actual.currentContext());
    }
    results.clear();
  }
}
