/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import io.lci.am.Encoder;
import io.lci.internal.core.Thrown;
import io.lci.internal.lane.HeapWriter;
import io.lci.internal.session.OutFrame.Part;
import io.lci.stream.StreamLimits;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Exceptions;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Operators;
import reactor.util.concurrent.Queues;
import reactor.util.context.Context;

/**
 * The sending direction of an exchange: asks its source for what the peer asked for, and makes
 * frames of the items when it is their turn. The source may signal on any thread; everything else
 * is loop only.
 *
 * @param <T> type of item
 */
final class Outbound<T> implements CoreSubscriber<T> {
  @SuppressWarnings("rawtypes")
  private static final AtomicIntegerFieldUpdater<Outbound> SIGNALLED =
      AtomicIntegerFieldUpdater.newUpdater(Outbound.class, "signalled");

  private final Exchange exchange;

  // Set before the source can signal
  private @Nullable Encoder<? super T> encoder;
  private Context context = Context.empty();

  /** The demand that its onSubscribe signals. */
  private int first;

  /** Whether the first item is the last. */
  private final boolean once;

  private final Queue<T> queue;

  // From the source's thread
  private volatile @Nullable Subscription upstream;
  private volatile boolean done;
  private volatile @Nullable Throwable error;
  private volatile boolean cancelled;
  private volatile int signalled;

  /** The first request was made: from now on the loop asks. */
  private volatile boolean open;

  /** Requested from the source in all, and what came of it; the latter by the source's thread. */
  private volatile long requested;

  private long emitted;

  // Loop only
  private long credit;
  private int outstanding;
  private long sent;
  private byte @Nullable [] item;
  private int offset;
  private boolean mustWait;
  private boolean lastItem;

  Outbound(Exchange exchange, boolean once) {
    this.exchange = exchange;
    this.once = once;
    this.queue = once ? Queues.<T>one().get() : Queues.<T>get(StreamLimits.WINDOW).get();
  }

  /** Subscribes to a source. */
  void from(Publisher<? extends T> source, Encoder<? super T> by, Context subscriber) {
    encoder = by;
    context = subscriber;
    if (cancelled) {
      return;
    }
    first = book();
    try {
      Flux.<T>from(source).subscribe(this);
    } catch (Throwable e) {
      Exceptions.throwIfJvmFatal(e);
      broken(e);
    }
  }

  /** Has one item, and no source. */
  void of(T single, Encoder<? super T> by) {
    encoder = by;
    queue.add(single);
    outstanding = 1;
    done = true;
  }

  // The source's signals

  @Override
  public void onSubscribe(Subscription s) {
    if (s == null) {
      throw broughtNull("subscription");
    }
    if (!Operators.validate(upstream, s)) {
      return;
    }
    upstream = s;
    if (cancelled) {
      s.cancel();
      return;
    }
    if (first > 0) { // now: a source such as a clock does not wait for it
      askFor(s, first);
    }
    open = true;
    signal();
  }

  @Override
  public void onNext(T value) {
    if (value == null) {
      throw broughtNull("item");
    }
    if (done || cancelled) {
      Operators.onDiscard(value, context);
      return;
    }
    if (++emitted > requested || !queue.offer(value)) {
      Operators.onDiscard(value, context);
      cancelUpstream();
      onError(Exceptions.failWithOverflow("the source emitted more than was requested"));
      return;
    }
    if (once) {
      done = true;
    }
    signal();
  }

  @Override
  public void onError(Throwable reason) {
    if (reason == null) {
      throw broughtNull("error");
    }
    if (done) {
      Operators.onErrorDropped(reason, context);
      return;
    }
    error = reason;
    done = true;
    signal();
  }

  @Override
  public void onComplete() {
    if (!done) {
      done = true;
      signal();
    }
  }

  @Override
  public Context currentContext() {
    return context;
  }

  /** For the source, which hears of it as the peer does (Reactive Streams 2.13). */
  private NullPointerException broughtNull(String signal) {
    NullPointerException thrown =
        new NullPointerException("the source brought null as its " + signal);
    broken(thrown);
    return thrown;
  }

  /** The source has failed in a way that is no signal: it is left, and the peer is told. */
  private void broken(Throwable reason) {
    if (reason != error) { // else it let through what was thrown at it
      cancelUpstream();
      onError(reason);
    }
  }

  private void signal() {
    if (SIGNALLED.compareAndSet(this, 0, 1)) {
      exchange
          .session
          .home()
          .execute(this::drain, () -> {}); // the exchange has ended with the loop
    }
  }

  private void drain() {
    signalled = 0;
    if (cancelled) {
      discard();
    } else {
      ask();
      exchange.wake();
    }
  }

  // Credit

  /** The peer asks for more. Returns false if it asks for more than makes sense. */
  boolean credit(int items) {
    credit += items;
    if (credit > Integer.MAX_VALUE) {
      return false;
    }
    ask();
    return true;
  }

  /** Requests from the source what the peer asked for and the window allows. */
  private void ask() {
    Subscription source = upstream;
    if (source == null || !open || done || cancelled) {
      return;
    }
    int want = book();
    if (want > 0) {
      askFor(source, want);
    }
  }

  /** Returns how much may be asked for now, and counts it as requested. */
  private int book() {
    long allowed = Math.min(credit, once ? 1 : StreamLimits.WINDOW);
    int want = (int) allowed - outstanding;
    if (want > 0 && (outstanding + want == credit || want >= StreamLimits.WINDOW / 4 || once)) {
      outstanding += want;
      requested += want; // written by the loop alone
      return want;
    }
    return 0;
  }

  private void askFor(Subscription source, int items) {
    try {
      source.request(items);
    } catch (Throwable e) { // a source must not; whoever waits for its items is to hear of it
      Exceptions.throwIfJvmFatal(e);
      broken(e);
    }
  }

  /** Whether an announced item waits for room at the peer. */
  boolean isWaiting() {
    return mustWait;
  }

  void granted() {
    mustWait = false;
  }

  long sent() {
    return sent;
  }

  // Frames

  /** Whether a part can go now. */
  boolean hasPart() {
    return item != null ? !mustWait : credit > 0 && !queue.isEmpty();
  }

  /** Whether everything went, and the end came. */
  boolean isAtEnd() {
    return done && item == null && queue.isEmpty();
  }

  /** The source's error; look at it at the end. */
  @Nullable Throwable error() {
    return error;
  }

  /**
   * The next part.
   *
   * @param room most bytes of a frame's body
   * @throws RuntimeException if the encoder failed
   */
  Part next(int room) {
    byte[] bytes = item;
    if (bytes != null) {
      return part(bytes, InFrame.CONTINUED, room);
    }
    T value = Objects.requireNonNull(queue.poll());
    outstanding--;
    credit--;
    bytes = encoded(value, Objects.requireNonNull(encoder));
    sent++;
    offset = 0;
    // An only item's thread may not have set the end yet. The end first: it is set after the last
    // item came
    lastItem = (once || (done && queue.isEmpty())) && error == null;
    ask();
    return part(bytes, 0, room);
  }

  /** The bytes of an item. */
  private byte[] encoded(T value, Encoder<? super T> encoder) {
    try {
      HeapWriter writer =
          new HeapWriter(encoder.sizeHint(value), exchange.session.limits().itemBytes());
      encoder.encode(value, writer);
      return writer.toByteArray();
    } catch (HeapWriter.Full e) {
      throw new TooLong(exchange.session.limits().itemBytes());
    } catch (RuntimeException e) {
      throw e;
    } catch (Throwable e) { // an Error of user code ends its exchange, like an exception
      Exceptions.throwIfJvmFatal(e);
      throw new IllegalStateException("encoding failed: " + Thrown.text(e), e);
    }
  }

  private Part part(byte[] bytes, int flags, int room) {
    int from = offset;
    int length = Math.min(room, bytes.length - from);
    offset = from + length;
    boolean whole = offset == bytes.length;
    item = whole ? null : bytes;
    mustWait = !whole && flags == 0;
    int last = whole && lastItem ? InFrame.LAST : 0;
    return new Part(flags | last, bytes.length, sent, bytes, from, length);
  }

  // The end

  /** Nobody wants more of it. */
  void cancel() {
    if (!cancelled) {
      cancelled = true;
      item = null;
      cancelUpstream();
      discard();
    }
  }

  private void cancelUpstream() {
    Subscription source = upstream;
    if (source != null && !done) {
      exchange.guarded(source::cancel);
    }
  }

  private void discard() {
    Operators.onDiscardQueueWithClear(queue, context, null);
  }
}
