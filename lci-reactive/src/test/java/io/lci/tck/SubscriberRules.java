/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.tck;

import io.lci.Op;
import io.lci.PostOptions;
import io.lci.am.Payload;
import java.util.List;
import java.util.Objects;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import org.reactivestreams.tck.SubscriberBlackboxVerification;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;

/** The TCK's rules for what a bulk operator is to its upstream. */
public final class SubscriberRules extends SubscriberBlackboxVerification<Integer> {
  private final TckWorld world;
  private final Operator operator;

  /**
   * A bulk operator.
   *
   * @param name how it is got
   * @param of puts it behind its upstream
   */
  record Operator(String name, BiFunction<TckWorld, Flux<Integer>, Publisher<?>> of) {
    @Override
    public String toString() {
      return name;
    }
  }

  SubscriberRules(TckWorld world, Operator operator) {
    super(Rules.environment());
    this.world = world;
    this.operator = operator;
  }

  /** Every bulk operator. */
  static List<Operator> operators() {
    return List.of(
        new Operator(
            "Sender.route",
            (w, items) ->
                w.here().sender(w.sink()).route(items, n -> 1, (n, out) -> out.putInt(n))),
        new Operator(
            "Sender.sendAll",
            (w, items) -> w.here().sender(w.sink()).sendAll(1, items, (n, out) -> out.putInt(n))),
        new Operator(
            "LciRuntime.post(Publisher)",
            (w, items) ->
                w.here()
                    .post(
                        items,
                        n -> Op.am(1, w.sink(), Payload.ofLong(n)),
                        PostOptions.defaults())));
  }

  @Override
  public Subscriber<Integer> createSubscriber() {
    Upstream upstream = new Upstream();
    operator.of.apply(world, upstream).subscribe(new Downstream());
    return Objects.requireNonNull(upstream.subscriber);
  }

  @Override
  public Integer createElement(int element) {
    return element;
  }

  /** Only takes note of who subscribes. */
  private static final class Upstream extends Flux<Integer> {
    @Nullable Subscriber<Integer> subscriber;

    @Override
    @SuppressWarnings("unchecked") // a subscriber to more than integers takes integers
    public void subscribe(CoreSubscriber<? super Integer> actual) {
      subscriber = (Subscriber<Integer>) actual;
    }
  }

  /** Asks for everything, and lets the rules end it as they like. */
  private static final class Downstream implements CoreSubscriber<Object> {
    @Override
    public void onSubscribe(Subscription s) {
      s.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(Object result) {}

    @Override
    public void onError(Throwable error) {}

    @Override
    public void onComplete() {}
  }
}
