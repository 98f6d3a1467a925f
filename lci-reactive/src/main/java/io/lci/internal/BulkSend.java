/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.Op;
import io.lci.PostOutcome;
import io.lci.am.Encoder;
import io.lci.am.SendResult;
import io.lci.error.LciException;
import io.lci.error.LciException.Detail;
import io.lci.nativebridge.Codes;
import java.util.ArrayDeque;
import java.util.LinkedHashSet;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Exceptions;
import reactor.core.Fuseable;
import reactor.core.publisher.Operators;
import reactor.util.concurrent.Queues;
import reactor.util.context.Context;

/**
 * A bulk send: takes from upstream what the window can hold, lets refused elements wait within the
 * window, and reports.
 *
 * <p>An element occupies the window from its request until it is reported: until accepted for
 * {@code sendAll}, until its result was emitted for {@code route}. Upstream may signal on any
 * thread: on the loop's own its elements go straight into the submission array, from elsewhere they
 * hop through a queue of the window's size.
 *
 * @param <T> element
 * @param <R> what the subscriber gets: {@link SendResult}, or nothing
 */
final class BulkSend<T, R> extends LoopSubscription<R> implements CoreSubscriber<T>, Submitter {
  @SuppressWarnings("rawtypes")
  private static final AtomicIntegerFieldUpdater<BulkSend> SIGNALLED =
      AtomicIntegerFieldUpdater.newUpdater(BulkSend.class, "signalled");

  private final SenderImpl sender;
  private final Encoder<? super T> encoder;
  private final @Nullable ToIntFunction<? super T> router;
  private final int fixedRank;
  private final int window;
  private final boolean stopOnError;

  // Upstream
  private @Nullable Subscription upstream;
  private Fuseable.@Nullable QueueSubscription<T> fused;
  private final Queue<T> queue;
  private volatile int signalled;
  private volatile boolean upstreamDone;
  private volatile @Nullable Throwable upstreamError;

  // Loop only
  private boolean started;
  private int outstanding;

  /** Elements taken from upstream, and those whose fate is known. */
  private long received;

  private long finished;

  /** Elements accepted since the last drain that need no result: they leave the window. */
  private int reported;

  private int lastSize;
  private final ArrayDeque<SendResult<T>> results = new ArrayDeque<>();
  private final Set<Destination> slowDestinations = new LinkedHashSet<>();
  private @Nullable Destination lastSlow;
  private @Nullable Throwable failure;
  private @Nullable Destination fixed;

  BulkSend(
      SenderImpl sender,
      CoreSubscriber<? super R> actual,
      int fixedRank,
      @Nullable ToIntFunction<? super T> router,
      Encoder<? super T> encoder) {
    super(sender.loop(), actual);
    this.sender = sender;
    this.fixedRank = fixedRank;
    this.router = router;
    this.encoder = encoder;
    this.window = sender.options().window();
    this.stopOnError = router == null || sender.options().stopOnError();
    this.queue = Queues.<T>get(window).get();
  }

  // Upstream's signals, any thread

  @Override
  @SuppressWarnings("unchecked") // a queue subscription of upstream carries its type
  public void onSubscribe(Subscription s) {
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
    actual.onSubscribe(this);
  }

  @Override
  public void onNext(T item) {
    if (loop.inLoop() && queue.isEmpty() && !loop.isEncoding()) {
      take(item);
    } else if (queue.offer(item)) {
      signalLoop();
    } else {
      Operators.onDiscard(item, currentContext());
      onError(Exceptions.failWithOverflow("upstream emitted more than was requested"));
    }
  }

  @Override
  public void onError(Throwable error) {
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
              BulkSend.this.rejected();
            }
          });
    }
  }

  // The loop

  @Override
  void drain() {
    signalled = 0;
    if (isOver()) {
      discardQueue();
      return;
    }
    settleReports();
    Throwable error = failure;
    if (error != null) {
      loop.outbox().flush(); // what is in the array was submitted before it: its results come first
      settleReports();
      if (results.isEmpty()) {
        stop(error);
      }
      return;
    }
    if (loop.isClosing()) {
      finishIfDone();
      if (!isOver() && received == finished && results.isEmpty()) {
        stop(Errors.closed("send to " + sender.port()));
      }
      return;
    }
    if (demand > 0 || started) {
      start();
      if (fused != null) {
        pull(fused);
      } else {
        receive();
      }
      finishIfDone();
    }
  }

  private void start() {
    if (!started) {
      started = true;
      loop.activate(this);
    }
  }

  /**
   * What was accepted leaves the window: at once for {@code sendAll}, as far as requested for
   * {@code route}.
   */
  private void settleReports() {
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
    while (outstanding < window && !isOver() && failure == null) {
      T item;
      try {
        item = source.poll();
      } catch (Throwable e) {
        Exceptions.throwIfJvmFatal(e);
        source.cancel(); // it does not know that it is over
        upstreamError = e;
        upstreamDone = true;
        return;
      }
      if (item == null) {
        upstreamDone = true;
        return;
      }
      outstanding++;
      received++;
      submit(item);
    }
  }

  private void receive() {
    for (T item = queue.poll(); item != null; item = queue.poll()) {
      take(item);
    }
    int free = window - outstanding;
    if (free > 0 && !upstreamDone && free >= Math.max(1, window >> 2)) {
      outstanding += free;
      java.util.Objects.requireNonNull(upstream).request(free);
    }
  }

  private void take(T item) {
    if (isOver() || failure != null || loop.isClosing()) {
      Operators.onDiscard(item, currentContext());
    } else {
      received++;
      submit(item);
    }
  }

  private void submit(T item) {
    Destination destination = fixed;
    if (destination == null) {
      destination = route(item);
      if (destination == null) {
        return;
      }
    }
    loop.outbox().submit(this, item, destination);
  }

  /** Where the item goes; null if its rank is wrong, which is its failure. */
  private @Nullable Destination route(T item) {
    int rank = fixedRank;
    if (router != null) {
      try {
        rank = router.applyAsInt(item);
      } catch (Throwable e) {
        Exceptions.throwIfJvmFatal(e);
        LciException error =
            sender.error(LciException.NONE, "error_rank", "the routing function failed: " + e);
        error.initCause(e);
        report(item, LciException.NONE, Codes.DONE, error);
        return null;
      }
    }
    if (rank < 0 || rank >= loop.runtime().size()) {
      report(
          item,
          rank,
          Codes.DONE,
          sender.error(rank, "error_rank", "ranks are 0 to " + (loop.runtime().size() - 1)));
      return null;
    }
    Destination destination = sender.destination(rank);
    if (router == null) {
      fixed = destination;
    }
    return destination;
  }

  private void finishIfDone() {
    if (isOver() || !upstreamDone || !queue.isEmpty()) {
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

  // Outcomes

  private void report(T item, int rank, int code, @Nullable LciException error) {
    finished++;
    if (error != null && stopOnError) {
      Operators.onDiscard(item, currentContext());
      if (failure == null) {
        failure = error;
      }
      reported++;
    } else if (router == null) {
      reported++;
    } else {
      PostOutcome outcome = Errors.outcome(code);
      results.add(new SendResult<>(item, rank, outcome, error));
    }
    schedule();
  }

  /**
   * Ends with an error after cancelling upstream; waiting elements are discarded, accepted ones run
   * out.
   */
  private void stop(Throwable error) {
    java.util.Objects.requireNonNull(upstream).cancel();
    giveUp();
    fail(error);
  }

  @Override
  void onAbort() {
    stop(Errors.closed("send to " + sender.port()));
  }

  private void giveUp() {
    loop.deactivate(this);
    for (Destination destination : slowDestinations) {
      loop.outbox().unparkAll(this, destination);
    }
    slowDestinations.clear();
    lastSlow = null;
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

  @Override
  void onCancel() {
    java.util.Objects.requireNonNull(upstream).cancel();
    giveUp();
  }

  // Submitter

  @Override
  public Op.Kind kind() {
    return Op.Kind.AM;
  }

  @Override
  @SuppressWarnings("unchecked") // items are what this submitted
  public int sizeHint(Object item) {
    int hint = encoder.sizeHint((T) item);
    return hint == Encoder.UNKNOWN ? lastSize : hint;
  }

  @Override
  @SuppressWarnings("unchecked") // as above
  public void encode(Object item, PostWriter out) {
    out.policy = sender.replyRoom();
    encoder.encode((T) item, out);
    lastSize = out.size();
  }

  @Override
  @SuppressWarnings("unchecked") // as above
  public Posted posted(Object item) {
    return new PostedElement((T) item);
  }

  @Override
  @SuppressWarnings("unchecked") // as above
  public void accepted(Object item, Destination destination, int code, int slot) {
    if (slot == SlotTable.NONE) {
      if (router == null) {
        finished++;
        reported++;
      } else {
        report((T) item, destination.rank, code, null);
      }
    } else {
      // The element is reported when its memory is free again.
      ((PostedElement) loop.outbox().slots.owner(slot)).accepted(destination, code);
    }
  }

  @Override
  @SuppressWarnings("unchecked") // as above
  public void failed(Object item, Destination destination, RuntimeException reason) {
    LciException error =
        reason instanceof LciException known
            ? known
            : new LciException(
                new Detail(
                    "am",
                    destination.rank,
                    destination.port,
                    sender.device(),
                    "error_argument",
                    String.valueOf(reason)));
    report((T) item, destination.rank, Codes.DONE, error);
  }

  @Override
  public boolean wants(Object item) {
    return !isOver() && failure == null;
  }

  @Override
  public void parked(Object item, Destination destination, int node, int code) {
    if (destination != lastSlow) {
      lastSlow = destination;
      slowDestinations.add(destination);
    }
  }

  @Override
  public void dropped(Object item, int code) {
    finished++;
    Operators.onDiscard(item, currentContext());
  }

  @Override
  public Drainable drainable() {
    return this;
  }

  /** An element whose payload did not fit a packet: reported at the native signal. */
  private final class PostedElement implements Posted {
    private final T item;
    private @Nullable Destination destination;
    private int code;

    PostedElement(T item) {
      this.item = item;
    }

    void accepted(Destination to, int acceptedAs) {
      destination = to;
      code = acceptedAs;
    }

    @Override
    public void completed(
        int endCode, int rank, long tag, int size, @Nullable PooledBuffer memory) {
      Destination to = java.util.Objects.requireNonNull(destination);
      report(
          item,
          to.rank,
          code,
          endCode == Codes.DONE ? null : loop.outbox().failures.failure(to, endCode));
    }

    @Override
    public void abandoned(RuntimeException reason) {
      BulkSend.this.failed(item, java.util.Objects.requireNonNull(destination), reason);
    }

    @Override
    public int boundRank() {
      return destination == null ? -1 : destination.rank;
    }

    @Override
    public boolean holdsClose() {
      return true;
    }
  }
}
