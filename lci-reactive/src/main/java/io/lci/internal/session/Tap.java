/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import io.lci.am.Message;
import io.lci.rpc.RpcExchange.Outcome;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Exceptions;
import reactor.core.publisher.Operators;

/**
 * The subscription to what an exchange receives: of a call, which begins with the first request, or
 * of the requests that a handler gets. Signals come on the loop only, and never inside somebody
 * else's.
 *
 * @param <T> what the subscriber gets
 */
final class Tap<T> implements Subscription, Receiver {
  @SuppressWarnings("rawtypes")
  private static final AtomicIntegerFieldUpdater<Tap> TERMINATED =
      AtomicIntegerFieldUpdater.newUpdater(Tap.class, "terminated");

  @SuppressWarnings("rawtypes")
  private static final AtomicIntegerFieldUpdater<Tap> ATTACHED =
      AtomicIntegerFieldUpdater.newUpdater(Tap.class, "attached");

  /** In {@link #attached}: nobody has subscribed, and nobody may any more. */
  private static final int REFUSED = 2;

  private final Home home;
  private final Function<? super Message, ? extends T> decoder;

  /** Begins the call; null where the exchange was there before. */
  private final @Nullable Function<Tap<T>, Exchange> begin;

  private volatile int attached;
  private volatile @Nullable CoreSubscriber<? super T> actual;

  /** Its {@code onSubscribe} has returned: it may be told of an end that it did not ask for. */
  private volatile boolean subscribed;

  private volatile int terminated;
  private volatile boolean cancelled;

  // Loop only
  private @Nullable Exchange exchange;
  private long demand;
  private boolean begun;
  private @Nullable Message held;
  private boolean ended;
  private @Nullable Throwable reason;

  private Tap(
      Home home,
      Function<? super Message, ? extends T> decoder,
      @Nullable Function<Tap<T>, Exchange> begin) {
    this.home = home;
    this.decoder = decoder;
    this.begin = begin;
  }

  /** A call: {@code begin} is called on the loop at the first request, and may signal an end. */
  static <T> void subscribe(
      Home home,
      Function<? super Message, ? extends T> decoder,
      CoreSubscriber<? super T> actual,
      Function<Tap<T>, Exchange> begin) {
    new Tap<T>(home, decoder, begin).attach(actual);
  }

  /** The requests of a channel that a peer opened. */
  static Tap<Message> requests(Exchange exchange) {
    Tap<Message> tap = new Tap<>(exchange.session.home(), message -> message, null);
    tap.exchange = exchange;
    return tap;
  }

  /** Any thread. The first comes in, others are refused. */
  void attach(CoreSubscriber<? super T> subscriber) {
    if (!ATTACHED.compareAndSet(this, 0, 1)) {
      Operators.error(subscriber, refusal());
      return;
    }
    actual = subscriber;
    subscriber.onSubscribe(this);
    subscribed = true;
    if (begin == null) {
      home.execute(this::flush, this::rejected);
    }
  }

  /** Takes no subscriber any more; returns false if it has one. */
  boolean refuse() {
    return ATTACHED.compareAndSet(this, 0, REFUSED);
  }

  private RuntimeException refusal() {
    Exchange ended = exchange;
    return attached == REFUSED && ended != null
        ? ended.failure(
            WireError.of(WireError.CANCELLED, "the answers ended before this subscription"))
        : new IllegalStateException("the requests of a channel have one subscriber");
  }

  reactor.util.context.Context context() {
    CoreSubscriber<? super T> subscriber = actual;
    return subscriber == null ? reactor.util.context.Context.empty() : subscriber.currentContext();
  }

  // The subscriber, any thread

  @Override
  public void request(long n) {
    if (n <= 0) {
      home.execute(this::refuseRequest, this::rejected);
    } else if (home.inLoop()) {
      requested(n);
    } else {
      home.execute(() -> requested(n), this::rejected);
    }
  }

  @Override
  public void cancel() {
    if (!cancelled && terminated == 0) {
      cancelled = true;
      home.execute(this::withdraw, () -> {});
    }
  }

  private void rejected() {
    fail(home.closed("subscribe"));
  }

  // Loop

  private void refuseRequest() {
    if (!isOver()) {
      fail(new IllegalArgumentException("request must be positive (Reactive Streams 3.9)"));
      withdraw();
    }
  }

  private void requested(long n) {
    if (isOver()) {
      return;
    }
    demand = Operators.addCap(demand, n);
    if (begin != null && !begun) {
      begun = true;
      home.execute(this::begin, this::rejected);
    } else if (held != null || ended) {
      home.execute(this::flush, this::rejected);
    }
    Exchange current = exchange;
    if (current != null) {
      current.wake();
    }
  }

  private void begin() {
    if (isOver()) {
      return;
    }
    try {
      exchange = Objects.requireNonNull(begin).apply(this);
    } catch (Throwable e) {
      Exceptions.throwIfJvmFatal(e);
      fail(e);
    }
  }

  private void withdraw() {
    held = null;
    actual = null; // whoever cancelled may be forgotten
    Exchange current = exchange;
    if (current != null) {
      current.cancel(Outcome.CANCELLED);
    }
  }

  /** Delivers what waited for demand or for a subscriber. */
  private void flush() {
    Message waiting = held;
    if (waiting != null && demand > 0 && actual != null) {
      held = null;
      Exchange current = Objects.requireNonNull(exchange);
      current.session.guarded(current, () -> emit(waiting));
    }
    finish();
  }

  @Override
  public long demand() {
    return isOver() ? 0 : Math.max(0, held == null ? demand : demand - 1);
  }

  @Override
  public void item(Message message) {
    if (held != null && !isOver()) {
      flush(); // the task that does it may still wait behind others
    }
    if (isOver()) {
      return;
    }
    if (demand == 0 || actual == null) {
      held = message; // one at most: the peer may send one unasked
    } else {
      emit(message);
    }
  }

  private void emit(Message message) {
    T value;
    try {
      value = decoder.apply(message);
      if (value == null) {
        throw new IllegalStateException("the codec returned null");
      }
    } catch (Throwable e) {
      Exceptions.throwIfJvmFatal(e);
      Exchange current = exchange;
      if (current != null) {
        current.cancel(Outcome.ERROR);
      }
      fail(e);
      return;
    }
    if (demand != Long.MAX_VALUE) {
      demand--;
    }
    CoreSubscriber<? super T> subscriber = actual;
    if (isOver() || subscriber == null) {
      return;
    }
    try {
      subscriber.onNext(value);
    } catch (Throwable e) {
      cancelled = true; // it has heard enough (Reactive Streams 2.13)
      throw e;
    }
  }

  @Override
  public void complete() {
    if (!ended) {
      ended = true;
      finish();
    }
  }

  @Override
  public void error(Throwable why) {
    if (!ended) {
      ended = true;
      reason = why;
      finish();
    }
  }

  private void finish() {
    if (!ended || held != null || !(subscribed || begun)) {
      return;
    }
    Throwable why = reason;
    if (why != null) {
      fail(why);
      return;
    }
    CoreSubscriber<? super T> subscriber = actual;
    if (!cancelled && subscriber != null && TERMINATED.compareAndSet(this, 0, 1)) {
      subscriber.onComplete();
    }
  }

  private void fail(Throwable why) {
    CoreSubscriber<? super T> subscriber = actual;
    if (!cancelled && subscriber != null && TERMINATED.compareAndSet(this, 0, 1)) {
      subscriber.onError(why);
    }
  }

  boolean isOver() {
    return cancelled || terminated != 0;
  }

  @Override
  public String toString() {
    CoreSubscriber<? super T> subscriber = actual;
    return subscriber == null
        ? "nobody"
        : "Tap(" + reactor.core.Scannable.from(subscriber).stepName() + ')';
  }
}
