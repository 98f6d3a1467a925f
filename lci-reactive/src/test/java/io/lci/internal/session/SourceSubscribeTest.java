/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import io.lci.Codec;
import io.lci.am.Payload;
import io.lci.rpc.RpcHandler;
import io.lci.testing.LciLeakCheck;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Operators;

/**
 * What streams and RPC are to their sources: a source is asked at once for what the peer wants, and
 * its faults end its exchange.
 */
@ExtendWith(LciLeakCheck.class)
class SourceSubscribeTest {
  /** What a source is of, and what the first subscriber asks of it. */
  private enum Use {
    STREAM(5),
    ANSWERS(5),
    REQUESTS(1);

    private final int wanted;

    Use(int wanted) {
      this.wanted = wanted;
    }
  }

  private final FakeNet net = new FakeNet(2);
  private final Heard<Object> heard = new Heard<>(5);

  /** Remembers what it was asked for by the end of its subscription. */
  private static final class Source implements Publisher<Payload>, Subscription {
    final AtomicReference<Subscriber<? super Payload>> subscriber = new AtomicReference<>();
    final boolean late;
    long askedAtOnce = -1;
    long asked;
    boolean cancelled;

    Source(boolean late) {
      this.late = late;
    }

    @Override
    public void subscribe(Subscriber<? super Payload> s) {
      subscriber.set(s);
      if (!late) {
        begin();
      }
    }

    void begin() {
      subscriber.get().onSubscribe(this);
      askedAtOnce = asked;
    }

    @Override
    public void request(long n) {
      asked += n;
    }

    @Override
    public void cancel() {
      cancelled = true;
    }
  }

  private static void elsewhere(Runnable step) throws InterruptedException {
    Thread thread = new Thread(step);
    thread.start();
    thread.join();
  }

  private void start(Use use, Publisher<Payload> source) {
    Codec<Payload> codec =
        Codec.of((payload, out) -> payload.writeTo(out), in -> Payload.of(in.toByteArray()));
    switch (use) {
      case STREAM -> {
        net.rank(1).publish("s", source, codec);
        net.rank(0).subscribe(1, "s", codec).subscribe(heard);
      }
      case ANSWERS -> {
        net.rank(1).serve("f", RpcHandler.stream(request -> source));
        net.rank(0).requestStream(1, "f", Payload.empty()).subscribe(heard);
      }
      default -> {
        net.rank(1)
            .serve(
                "f",
                RpcHandler.channel(
                    requests -> Flux.from(requests).then().cast(Payload.class).flux()));
        net.rank(0).requestChannel(1, "f", source).subscribe(heard);
      }
    }
    net.run();
  }

  /** A clock does not wait: its first item may come right after its subscription. */
  @ParameterizedTest
  @EnumSource(Use.class)
  void isAskedInItsOnSubscribe(Use use) {
    Source source = new Source(false);
    start(use, source);
    assertThat(source.askedAtOnce).isEqualTo(use.wanted);
    assertThat(source.asked).isGreaterThanOrEqualTo(use.wanted);
  }

  @ParameterizedTest
  @EnumSource(Use.class)
  void isAskedSoOnAnotherThread(Use use) throws InterruptedException {
    Source source = new Source(true);
    start(use, source);
    elsewhere(source::begin);
    assertThat(source.askedAtOnce).isEqualTo(use.wanted);
    net.run();
    source.subscriber.get().onComplete();
    net.run();
    assertThat(heard.error).isNull();
    assertThat(heard.completed).isTrue();
  }

  /** What it emits while it is asked is no more than it was asked for. */
  @Test
  void mayEmitWhileItIsAsked() {
    Publisher<Payload> eager =
        s ->
            s.onSubscribe(
                new Subscription() {
                  private int next;

                  @Override
                  public void request(long n) {
                    for (long i = 0; i < n; i++) {
                      s.onNext(Payload.ofInt(next++));
                    }
                  }

                  @Override
                  public void cancel() {}
                });
    start(Use.STREAM, eager);
    assertThat(heard.items).hasSize(5);
    heard.request(30);
    net.run();
    assertThat(heard.items).hasSize(35);
    assertThat(heard.error).isNull();
    heard.cancel();
    net.run();
  }

  /** Nothing is asked of a source whose subscriber is gone when it answers at last. */
  @Test
  void isCancelledAloneWhenNobodyIsLeft() throws InterruptedException {
    Source source = new Source(true);
    start(Use.STREAM, source);
    heard.cancel();
    net.run();
    elsewhere(source::begin);
    net.run();
    assertThat(source.cancelled).isTrue();
    assertThat(source.asked).isZero();
  }

  /** The source hears of its fault, too (Reactive Streams 2.13). */
  @ParameterizedTest
  @EnumSource(Use.class)
  void aLateNullEndsItsExchange(Use use) throws InterruptedException {
    Source source = new Source(false);
    start(use, source);
    elsewhere(
        () ->
            assertThatNullPointerException()
                .isThrownBy(() -> source.subscriber.get().onNext(null)));
    net.run();
    assertThat(source.cancelled).isTrue();
    assertThat(heard.error).asString().contains("the source brought null");
    assertThat(net.open(0) + net.open(1)).isZero();
  }

  @ParameterizedTest
  @EnumSource(Use.class)
  void soDoesAMissingSubscription(Use use) {
    start(use, s -> s.onSubscribe(null));
    assertThat(heard.error).asString().contains("the source brought null");
    assertThat(net.open(0) + net.open(1)).isZero();
  }

  @ParameterizedTest
  @EnumSource(Use.class)
  void soDoesANullError(Use use) {
    start(
        use,
        s -> {
          s.onSubscribe(Operators.emptySubscription());
          s.onError(null);
        });
    assertThat(heard.error).asString().contains("the source brought null");
    assertThat(net.open(0) + net.open(1)).isZero();
  }
}
