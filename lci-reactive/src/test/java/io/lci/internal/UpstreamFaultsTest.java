/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.Op;
import io.lci.PostOptions;
import io.lci.am.Payload;
import io.lci.am.Sender;
import io.lci.am.SenderOptions;
import io.lci.nativebridge.Codes;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import reactor.core.Disposable;
import reactor.core.Fuseable;
import reactor.core.publisher.Flux;

/** Sources of bulk operators that throw where they must not: whoever subscribed hears of an end. */
class UpstreamFaultsTest {
  private static final int NOWHERE = 99;

  /** The bulk operators. */
  enum Operator {
    ROUTE,
    SEND_ALL,
    POST
  }

  private final Operations operations = new Operations();
  private final List<Throwable> errors = new ArrayList<>();

  @AfterEach
  void close() {
    operations.close();
  }

  /** Throws at every cancel, and at requests if it is to; else it emits so many and goes on. */
  private static class Broken implements Subscription {
    private final Subscriber<? super Integer> subscriber;
    private final int items;
    private boolean emitted;

    Broken(Subscriber<? super Integer> subscriber, int items) {
      this.subscriber = subscriber;
      this.items = items;
    }

    @Override
    public void request(long n) {
      if (items == 0) {
        throw new IllegalStateException("no such file");
      }
      for (int i = 0; i < items && !emitted; i++) {
        subscriber.onNext(i);
      }
      emitted = true;
    }

    @Override
    public void cancel() {
      throw new IllegalStateException("cannot be closed");
    }
  }

  /** The same, fused. */
  private static final class BrokenQueue extends Broken
      implements Fuseable.QueueSubscription<Integer> {
    BrokenQueue(Subscriber<? super Integer> subscriber) {
      super(subscriber, 0);
    }

    @Override
    public int requestFusion(int requested) {
      return Fuseable.SYNC;
    }

    @Override
    public Integer poll() {
      throw new IllegalStateException("no such line");
    }

    @Override
    public int size() {
      return 1;
    }

    @Override
    public boolean isEmpty() {
      return false;
    }

    @Override
    public void clear() {}
  }

  private static Publisher<Integer> broken(int items) {
    return subscriber -> subscriber.onSubscribe(new Broken(subscriber, items));
  }

  private Disposable subscribe(Operator operator, int rank, Publisher<Integer> items) {
    Sender sender =
        operations.runtime.sender(
            Operations.PORT, SenderOptions.builder().window(4).stopOnError(true).build());
    operations.turns(1);
    Flux<?> flux =
        switch (operator) {
          case ROUTE -> sender.route(items, n -> rank, (n, out) -> out.putInt(n));
          case SEND_ALL ->
              sender
                  .sendAll(
                      Operations.PEER,
                      items,
                      (n, out) -> {
                        if (rank == NOWHERE) {
                          throw new IllegalArgumentException("99");
                        }
                        out.putInt(n);
                      })
                  .flux();
          case POST ->
              operations.runtime.post(
                  items,
                  n -> Op.am(rank, Operations.PORT, Payload.ofLong(n)),
                  PostOptions.builder().window(4).stopOnError(true).build());
        };
    Disposable running = flux.subscribe(value -> {}, errors::add);
    operations.turns(4);
    return running;
  }

  @ParameterizedTest
  @EnumSource(Operator.class)
  void whatARequestThrowsIsTheEnd(Operator operator) {
    subscribe(operator, Operations.PEER, broken(0));
    assertThat(errors).singleElement().asString().contains("no such file");
  }

  @ParameterizedTest
  @EnumSource(Operator.class)
  void soIsWhatAPollThrows(Operator operator) {
    subscribe(operator, Operations.PEER, s -> s.onSubscribe(new BrokenQueue(s)));
    assertThat(errors).singleElement().asString().contains("no such line");
  }

  @ParameterizedTest
  @EnumSource(Operator.class)
  void aFailureEndsItAlsoWhereCancelThrows(Operator operator) {
    subscribe(operator, NOWHERE, broken(1));
    assertThat(errors).singleElement().asString().contains("99");
    assertThat(operations.runtime.snapshot().counter("loop_uncaught")).isEqualTo(1);
  }

  @ParameterizedTest
  @EnumSource(Operator.class)
  void nothingIsSentAfterACancelThatThrows(Operator operator) {
    operations.answer(Codes.RETRY_NOCREDIT);
    Disposable running = subscribe(operator, Operations.PEER, broken(3));
    assertThat(operations.parked()).isPositive();
    running.dispose();
    operations.turns(3);
    assertThat(operations.parked()).isZero();
    assertThat(errors).isEmpty();
    assertThat(operations.runtime.snapshot().counter("loop_uncaught")).isEqualTo(1);
  }
}
