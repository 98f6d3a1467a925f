/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.tck;

import io.lci.Codec;
import io.lci.Op;
import io.lci.PostOptions;
import io.lci.am.Payload;
import io.lci.am.SenderOptions;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.function.IntFunction;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import org.reactivestreams.tck.SubscriberBlackboxVerification;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;

/** The TCK's rules for what a bulk operator is to its upstream, or a peer to a published stream. */
public final class SubscriberRules extends SubscriberBlackboxVerification<Object> {
  private final TckWorld world;
  private final Operator operator;

  /**
   * A bulk operator, or what brings elements to another rank.
   *
   * @param name how it is got
   * @param element an element for it
   * @param of puts it behind its upstream, which has such elements
   */
  record Operator(
      String name,
      IntFunction<Object> element,
      BiFunction<TckWorld, Flux<Object>, Publisher<?>> of) {

    @SuppressWarnings("unchecked") // its elements are what createElement makes
    static Operator ofNumbers(String name, BiFunction<TckWorld, Flux<Integer>, Publisher<?>> of) {
      return new Operator(name, n -> n, (w, items) -> of.apply(w, (Flux<Integer>) (Flux<?>) items));
    }

    @SuppressWarnings("unchecked") // as above
    static Operator ofPayloads(String name, BiFunction<TckWorld, Flux<Payload>, Publisher<?>> of) {
      return new Operator(
          name, Payload::ofInt, (w, items) -> of.apply(w, (Flux<Payload>) (Flux<?>) items));
    }

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

  /** All that subscribe to what the user gives them. */
  static List<Operator> operators() {
    return List.of(
        Operator.ofNumbers(
            "Sender.route",
            (w, items) ->
                w.here().sender(w.sink()).route(items, n -> 1, (n, out) -> out.putInt(n))),
        Operator.ofNumbers(
            "Sender.route with deadlines",
            (w, items) ->
                w.here()
                    .sender(w.sink(), SenderOptions.builder().deadline(TckWorld.LIMIT).build())
                    .route(items, n -> 1, (n, out) -> out.putInt(n))),
        Operator.ofNumbers(
            "Sender.sendAll",
            (w, items) -> w.here().sender(w.sink()).sendAll(1, items, (n, out) -> out.putInt(n))),
        Operator.ofNumbers(
            "LciRuntime.post(Publisher)",
            (w, items) ->
                w.here()
                    .post(
                        items, n -> Op.am(1, w.sink(), Payload.ofLong(n)), PostOptions.defaults())),
        Operator.ofNumbers("CollectivePlan.runs", (w, items) -> Rows.plan(w.alone()).runs(items)),
        Operator.ofNumbers("Streams.publish", (w, items) -> w.subscribed(items)),
        Operator.ofNumbers(
            "GroupStreams.shuffle",
            (w, items) -> w.aloneStreams().shuffle(items, n -> 0, Codec.INT)),
        Operator.ofPayloads(
            "Rpc.requestChannel",
            (w, items) -> w.here().rpc().requestChannel(1, TckWorld.FUNCTION, items)),
        Operator.ofPayloads("RpcHandler.requestChannel", (w, items) -> w.answered(items)));
  }

  @Override
  public Subscriber<Object> createSubscriber() {
    Upstream upstream = new Upstream();
    operator.of.apply(world, upstream).subscribe(new Downstream());
    return upstream.subscriber.orTimeout(TckWorld.LIMIT.toSeconds(), TimeUnit.SECONDS).join();
  }

  @Override
  public Object createElement(int element) {
    return operator.element.apply(element);
  }

  /** Only takes note of who subscribes. */
  private static final class Upstream extends Flux<Object> {
    final CompletableFuture<Subscriber<Object>> subscriber = new CompletableFuture<>();

    @Override
    @SuppressWarnings("unchecked") // whoever takes any object
    public void subscribe(CoreSubscriber<? super Object> actual) {
      subscriber.complete((Subscriber<Object>) actual);
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
