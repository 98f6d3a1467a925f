/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import io.lci.Op;
import io.lci.PostOptions;
import io.lci.am.Payload;
import io.lci.am.Sender;
import io.lci.am.SenderOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import reactor.core.CorePublisher;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Operators;

/**
 * What a bulk operator does when it subscribes to its source: it asks at once for what its
 * subscriber wants, and what the source does wrong is an error of the subscriber, not of the
 * caller.
 */
class UpstreamSubscribeTest {
  private static final int WINDOW = 4;

  /** The bulk operators. */
  enum Operator {
    ROUTE,
    SEND_ALL,
    POST
  }

  private final Operations operations = new Operations();
  private final Listener listener = new Listener();

  @AfterEach
  void close() {
    operations.close();
  }

  /** Asks for all in its onSubscribe, as most do. */
  private static final class Listener implements CoreSubscriber<Object> {
    int subscriptions;
    final List<Throwable> errors = new ArrayList<>();

    @Override
    public void onSubscribe(Subscription s) {
      subscriptions++;
      s.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(Object item) {}

    @Override
    public void onError(Throwable error) {
      errors.add(error);
    }

    @Override
    public void onComplete() {}
  }

  /** Counts what is asked of it. */
  private static final class Counting implements Subscription {
    long requested;
    boolean cancelled;

    @Override
    public void request(long n) {
      requested += n;
    }

    @Override
    public void cancel() {
      cancelled = true;
    }
  }

  private CorePublisher<?> behind(Operator operator, Publisher<Integer> items) {
    Sender sender =
        operations.runtime.sender(Operations.PORT, SenderOptions.builder().window(WINDOW).build());
    return switch (operator) {
      case ROUTE -> sender.route(items, n -> Operations.PEER, (n, out) -> out.putInt(n));
      case SEND_ALL -> sender.sendAll(Operations.PEER, items, (n, out) -> out.putInt(n));
      case POST ->
          operations.runtime.post(
              items,
              n -> Op.am(Operations.PEER, Operations.PORT, Payload.ofLong(n)),
              PostOptions.builder().window(WINDOW).build());
    };
  }

  /** Calls what operators call: a subscriber of Reactor's own is not wrapped. */
  private void subscribe(Operator operator, Publisher<Integer> items) {
    behind(operator, items).subscribe(listener);
    operations.turns(4);
  }

  private void assertFailed(String text) {
    assertThat(listener.subscriptions).isEqualTo(1);
    assertThat(listener.errors).singleElement().asString().contains(text);
  }

  @ParameterizedTest
  @EnumSource(Operator.class)
  void whatSubscribeThrowsIsTheEnd(Operator operator) {
    subscribe(
        operator,
        s -> {
          throw new IllegalStateException("no such table");
        });
    assertFailed("no such table");
  }

  @ParameterizedTest
  @EnumSource(Operator.class)
  void soIsWhatItThrowsAfterItsSubscription(Operator operator) {
    Counting subscription = new Counting();
    subscribe(
        operator,
        s -> {
          s.onSubscribe(subscription);
          throw new IllegalStateException("no such table");
        });
    assertFailed("no such table");
    assertThat(subscription.cancelled).isTrue();
  }

  @ParameterizedTest
  @EnumSource(Operator.class)
  void aMissingSubscriptionIsTheEnd(Operator operator) {
    subscribe(operator, s -> s.onSubscribe(null));
    assertFailed("NullPointerException");
  }

  @ParameterizedTest
  @EnumSource(Operator.class)
  void aNullItemIsTheEnd(Operator operator) {
    Counting subscription = new Counting();
    subscribe(
        operator,
        s -> {
          s.onSubscribe(subscription);
          s.onNext(null);
        });
    assertFailed("NullPointerException");
    assertThat(subscription.cancelled).isTrue();
  }

  @ParameterizedTest
  @EnumSource(Operator.class)
  void aNullErrorIsTheEnd(Operator operator) {
    subscribe(
        operator,
        s -> {
          s.onSubscribe(Operators.emptySubscription());
          s.onError(null);
        });
    assertFailed("NullPointerException");
  }

  /** The source hears of its fault, too (Reactive Streams 2.13). */
  @ParameterizedTest
  @EnumSource(Operator.class)
  void aLateNullItemIsTheEndAndThrown(Operator operator) {
    AtomicReference<Subscriber<? super Integer>> late = new AtomicReference<>();
    subscribe(
        operator,
        s -> {
          late.set(s);
          s.onSubscribe(new Counting());
        });
    assertThat(listener.errors).isEmpty();
    assertThatNullPointerException().isThrownBy(() -> late.get().onNext(null));
    operations.turns(2);
    assertFailed("NullPointerException");
  }

  /** A source that does not wait for demand, such as a clock, has it before its first item. */
  @ParameterizedTest
  @EnumSource(Operator.class)
  void itIsAskedAtOnceForWhatIsWanted(Operator operator) {
    Counting subscription = new Counting();
    behind(operator, s -> s.onSubscribe(subscription)).subscribe(listener);
    assertThat(subscription.requested).isEqualTo(WINDOW);
    operations.turns(4);
    assertThat(subscription.requested).isEqualTo(WINDOW);
  }
}
