/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.am.SendResult;
import io.lci.completion.Completion;
import io.lci.error.LciException;
import io.lci.internal.core.Thrown;
import io.lci.internal.loop.LoopSubscription;
import io.lci.internal.loop.LoopTask;
import java.util.ArrayDeque;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Exceptions;
import reactor.core.Fuseable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Operators;
import reactor.util.concurrent.Queues;
import reactor.util.context.Context;

/**
 * A bulk operator: takes from upstream what the window can hold, lets refused elements wait within
 * the window, and reports.
 *
 * <p>An element occupies the window from its request until it is reported: until its fate is known
 * where nobody asks for results, else until its result was emitted. Upstream may signal on any
 * thread: on the loop's own its elements go straight into the submission array, from elsewhere they
 * hop through a queue of the window's size.
 *
 * @param <T> element
 * @param <R> what the subscriber gets: {@link SendResult}, or nothing
 */
abstract class BulkRun<T, R> extends LoopSubscription<R> implements CoreSubscriber<T> {
  final Outbox outbox;

  @SuppressWarnings("rawtypes")
  private static final AtomicIntegerFieldUpdater<BulkRun> SIGNALLED =
      AtomicIntegerFieldUpdater.newUpdater(BulkRun.class, "signalled");

  private final int window;
  private final boolean stopOnError;

  // Upstream
  private @Nullable Subscription upstream;
  private Fuseable.@Nullable QueueSubscription<T> fused;
  private final Queue<T> queue;
  private volatile int signalled;
  private volatile boolean upstreamDone;
  private volatile boolean upstreamCancelled;
  private volatile @Nullable Throwable upstreamError;

  /** Where the first request stands; see {@link #askFirst()}. */
  private volatile First first = First.NOT_YET;

  private enum First {
    /** Upstream is just handing over its subscription: the loop asks for nothing. */
    NOT_YET,
    /** Nothing was wanted yet: the loop asks when something is. */
    DUE,
    /** A thread asks, and the loop does not at the same time (Reactive Streams 2.7). */
    UNDER_WAY,
    MADE
  }

  // Loop only
  private boolean active;
  private boolean started;

  /** Requested from upstream and not reported. */
  private int outstanding;

  /** Elements requested from upstream, those that came, and those whose fate is known. */
  private long requested;

  private long received;
  private long finished;

  /** Elements that ended since the last drain and need no result: they leave the window. */
  private int reported;

  /** An element came when nothing was taken any more: the end must not look complete. */
  private boolean cut;

  private final ArrayDeque<SendResult<T>> results = new ArrayDeque<>();
  private @Nullable Throwable failure;

  BulkRun(Outbox outbox, CoreSubscriber<? super R> actual, int window, boolean stopOnError) {
    super(outbox.loop, actual);
    this.outbox = outbox;
    this.window = window;
    this.stopOnError = stopOnError;
    this.queue = Queues.<T>get(window).get();
  }

  // What the kinds of operators differ in; loop only

  /** Posts the element. Its end, now or later, is {@link #accepted} or {@link #report}. */
  abstract void submit(T item);

  /**
   * Whether whatever is submitted next would only wait behind what this has submitted before. Where
   * others wait, too, it is to take its place among them.
   */
  boolean isHeldUp() {
    return false;
  }

  /** Takes back what the core has not accepted, each through {@link #gone} and {@link #discard}. */
  abstract void withdraw();

  /**
   * Whether what the core has accepted has its result before a failure ends this; else it runs out.
   */
  boolean reportsAccepted() {
    return false;
  }

  /** The same, and what the core has accepted stays under way. */
  void withdrawWaiting() {
    withdraw();
  }

  /** What it does, for errors. */
  abstract String operation();

  // Upstream's signals, any thread

  /** Subscribes to upstream; what that throws is for this one's subscriber. */
  final void subscribeTo(Publisher<? extends T> items) {
    try {
      Flux.<T>from(items).subscribe(this);
    } catch (Throwable e) {
      Exceptions.throwIfJvmFatal(e);
      broken(e);
    }
  }

  @Override
  @SuppressWarnings("unchecked") // a queue subscription of upstream carries its type
  public void onSubscribe(Subscription s) {
    if (s == null) {
      throw broughtNull("subscription");
    }
    if (!Operators.validate(upstream, s)) {
      return;
    }
    upstream = s;
    if (s instanceof Fuseable.QueueSubscription<?> candidate) {
      Fuseable.QueueSubscription<T> source = (Fuseable.QueueSubscription<T>) candidate;
      if (source.requestFusion(Fuseable.SYNC | Fuseable.THREAD_BARRIER) == Fuseable.SYNC) {
        fused = source;
      }
    }
    if (fused != null) {
      first = First.MADE; // the loop fetches what it wants
      begin();
    } else {
      outstanding = window; // booked before the loop knows of this
      requested = window;
      begin();
      askFirst();
    }
  }

  /**
   * Asks for the first window at once if something is wanted already: a source that does not wait
   * for demand, such as a clock, may emit as soon as it has been subscribed to.
   */
  private void askFirst() {
    if (isWanted() && !isOver()) {
      first = First.UNDER_WAY;
      askFor(window);
      first = First.MADE;
    } else {
      first = First.DUE;
    }
    signalLoop(); // it has left the asking to this thread
  }

  private void askFor(int items) {
    try {
      Objects.requireNonNull(upstream).request(items);
    } catch (Throwable e) { // a source must not; whoever waits for its items is to hear of it
      Exceptions.throwIfJvmFatal(e);
      broken(e);
    }
  }

  @Override
  public void onNext(T item) {
    if (item == null) {
      throw broughtNull("item");
    }
    if (upstreamDone) {
      Operators.onNextDropped(item, currentContext());
    } else if (loop.inLoop() && queue.isEmpty() && !loop.isInBatch()) {
      take(item);
    } else if (queue.offer(item)) {
      signalLoop();
    } else {
      overflow(item);
    }
  }

  @Override
  public void onError(Throwable error) {
    if (error == null) {
      throw broughtNull("error");
    }
    if (upstreamDone) {
      Operators.onErrorDropped(error, currentContext());
      return;
    }
    upstreamError = error;
    upstreamDone = true;
    signalLoop();
  }

  @Override
  public void onComplete() {
    upstreamDone = true;
    signalLoop();
  }

  @Override
  public Context currentContext() {
    return actual.currentContext();
  }

  /** For upstream, which hears of it as the subscriber does (Reactive Streams 2.13). */
  private NullPointerException broughtNull(String signal) {
    NullPointerException error = new NullPointerException("upstream brought null as its " + signal);
    broken(error);
    return error;
  }

  /** Upstream has failed in a way that is no signal: it is left, and the subscriber is told. */
  private void broken(Throwable reason) {
    if (reason == upstreamError) {
      return; // upstream let through what was thrown at it
    }
    if (upstream == null) {
      onSubscribe(Operators.emptySubscription());
    }
    if (!upstreamDone) {
      cancelUpstream();
    }
    onError(reason);
  }

  /** More than was asked for: there is no room for it, and no trust in what follows. */
  private void overflow(T item) {
    discard(item);
    if (!upstreamDone) {
      cancelUpstream();
      onError(Exceptions.failWithOverflow("upstream emitted more than was requested"));
    }
  }

  private void signalLoop() {
    if (loop.inLoop()) {
      schedule();
    } else if (SIGNALLED.compareAndSet(this, 0, 1)) {
      loop.execute(
          new LoopTask() {
            @Override
            public void run() {
              schedule();
            }

            @Override
            public void rejected() {
              signalled = 0;
              BulkRun.this.rejected();
              discardQueue(); // also what came after the end
            }
          });
    }
  }

  // The loop

  @Override
  public final void drain() {
    signalled = 0;
    settle();
    if (isOver()) {
      discardQueue();
    } else if (failure != null) {
      drainToFailure(failure);
    } else if (loop.isClosing()) {
      finishIfDone();
      if (!isOver() && received == finished && results.isEmpty()) {
        stop(loop.closed(operation()));
      }
    } else {
      work();
    }
  }

  /** What is in the array was submitted before the failure: its results come first. */
  private void drainToFailure(Throwable error) {
    outbox.flush();
    settle();
    if (!isOver() && reportsAccepted()) {
      withdrawWaiting();
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
    if (fused == null) {
      takeQueued();
      if (started) {
        requestMore();
      }
    } else if (started) {
      pull(fused);
    }
    finishIfDone(); // also before the first demand: upstream's end needs none
  }

  /** What ended leaves the window: at once, or as far as results are requested. */
  private void settle() {
    outstanding -= reported;
    reported = 0;
    while (demand > 0 && !isOver()) {
      SendResult<T> result = results.poll();
      if (result == null) {
        return;
      }
      outstanding--;
      emitResult(result);
    }
  }

  @SuppressWarnings("unchecked") // R is SendResult<T> whenever there are results
  private void emitResult(SendResult<T> result) {
    emit((R) result);
  }

  private void pull(Fuseable.QueueSubscription<T> source) {
    while (outstanding < window && !isOver() && failure == null && !upstreamDone) {
      if (isHeldUp()) {
        return; // the fate of what waits brings us back
      }
      if (loop.hasPostedEnough()) {
        schedule(); // the rest in the next turn
        return;
      }
      T item;
      try {
        item = source.poll();
      } catch (Throwable e) {
        Exceptions.throwIfJvmFatal(e);
        cancelUpstream(); // it does not know that it is over
        upstreamError = e;
        upstreamDone = true;
        return;
      }
      if (item == null) {
        upstreamDone = true;
        return;
      }
      outstanding++;
      requested++;
      take(item);
    }
  }

  private void takeQueued() {
    for (T item = queue.poll(); item != null; item = queue.poll()) {
      take(item);
    }
  }

  private void requestMore() {
    if (upstreamDone || isOver()) {
      return;
    }
    if (first == First.DUE) {
      first = First.MADE;
      askFor(window); // they are booked
    }
    int free = window - outstanding;
    if (first == First.MADE && free >= Math.max(1, window >> 2)) {
      outstanding += free;
      requested += free;
      askFor(free);
    }
  }

  private void take(T item) {
    if (isOver() || failure != null || loop.isClosing()) {
      cut = true;
      discard(item);
    } else if (first == First.NOT_YET || first == First.DUE || received == requested) {
      overflow(item);
    } else {
      received++;
      submit(item);
    }
  }

  private void finishIfDone() {
    if (isOver() || cut || !upstreamDone || !queue.isEmpty()) {
      return;
    }
    if (received > finished || reported > 0 || !results.isEmpty()) {
      return;
    }
    loop.deactivate(this);
    Throwable error = upstreamError;
    if (error != null) {
      fail(error);
    } else {
      complete();
    }
  }

  // Fates of elements; loop only

  /** Whether a refused element should wait. */
  final boolean isWanting() {
    return !isOver() && failure == null;
  }

  /** It was accepted, and nobody asks for its result. */
  final void accepted() {
    finished++;
    reported++;
  }

  /** It ended, and nobody is to hear of it. */
  final void gone() {
    finished++;
  }

  /** Nobody gets it. */
  final void discard(T item) {
    Operators.onDiscard(item, currentContext());
  }

  /** It ended as {@code result} says. */
  final void report(SendResult<T> result) {
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
      Remainder.discard(outbox, late.message(), currentContext());
    }
  }

  /** Errors of operations are of this library. */
  final LciException known(RuntimeException reason, int rank, int port, int device) {
    return reason instanceof LciException known
        ? known
        : new LciException(
            new LciException.Detail(
                operation(), rank, port, device, "error_argument", Thrown.text(reason)));
  }

  // Ends

  /** Ends with an error; what the core accepted runs out. */
  private void stop(Throwable error) {
    cancelUpstream();
    giveUp();
    fail(error);
  }

  /** What was taken may go out, and its results be fetched; upstream is to hand on no more. */
  @Override
  public final void onClosing() {
    if (!upstreamDone) {
      cancelUpstream();
    }
    schedule();
  }

  @Override
  public final boolean holdsClose() {
    return !results.isEmpty() && !isOver();
  }

  @Override
  public final void onAbort() {
    outbox.lateData += results.size(); // nobody asked for them in time
    stop(loop.closed(operation()));
  }

  @Override
  public final void onCancel() {
    cancelUpstream();
    giveUp();
  }

  @Override
  public final void onRejected() {
    cancelUpstream();
    discardQueue();
  }

  /** Once: at a close it comes before the end. */
  private void cancelUpstream() {
    if (!upstreamCancelled) {
      upstreamCancelled = true;
      loop.guarded(Objects.requireNonNull(upstream)::cancel);
    }
  }

  private void giveUp() {
    loop.deactivate(this);
    withdraw();
    discardQueue();
    if (fused != null) {
      fused.clear();
    }
    for (SendResult<T> result : results) {
      Operators.onDiscard(result, currentContext());
    }
    results.clear();
  }

  private void discardQueue() {
    Operators.onDiscardQueueWithClear(queue, currentContext(), null);
  }
}
