/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.Codec;
import io.lci.LciInstrumentation;
import io.lci.LciOptions;
import io.lci.PeerEvent;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.error.DeadlineExceededException;
import io.lci.error.LciClosedException;
import io.lci.error.NoSuchStreamException;
import io.lci.error.OperationCancelledException;
import io.lci.error.PeerFailedException;
import io.lci.error.RemoteException;
import io.lci.error.ResourceExhaustedException;
import io.lci.internal.RefusingTimer;
import io.lci.internal.Unspeakable;
import io.lci.rpc.CallOptions;
import io.lci.rpc.RpcExchange;
import io.lci.rpc.RpcHandler;
import io.lci.stream.StreamLimits;
import io.lci.stream.SubscribeOptions;
import io.lci.testing.LciLeakCheck;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.test.publisher.TestPublisher;

/**
 * User code that throws where it must not, and ends at awkward moments: every subscriber hears of
 * an end, nobody else is disturbed, and no peer is blamed.
 */
@ExtendWith(LciLeakCheck.class)
class UserFaultsTest {
  private static final byte[] LARGE = new byte[9_000];

  /** A source that never ends, and throws at what its subscriber says. */
  private record Broken(boolean atRequest) implements Publisher<Payload> {
    @Override
    public void subscribe(Subscriber<? super Payload> subscriber) {
      subscriber.onSubscribe(
          new Subscription() {
            @Override
            public void request(long n) {
              if (atRequest) {
                throw new IllegalStateException("no such file");
              }
            }

            @Override
            public void cancel() {
              throw new IllegalStateException("cannot be closed");
            }
          });
    }
  }

  /** A subscriber that throws at items and errors. */
  private static <T> CoreSubscriber<T> throwing() {
    return throwing(new IllegalStateException("as wanted"));
  }

  private static <T> CoreSubscriber<T> throwing(RuntimeException what) {
    return throwing(
        what,
        subscription -> subscription.request(5),
        reason -> {
          throw what;
        });
  }

  /** A subscriber that throws at items. */
  private static <T> CoreSubscriber<T> throwing(
      RuntimeException what, Consumer<Subscription> subscribed, Consumer<Throwable> failed) {
    return new CoreSubscriber<>() {
      @Override
      public void onSubscribe(Subscription s) {
        subscribed.accept(s);
      }

      @Override
      public void onNext(T item) {
        throw what;
      }

      @Override
      public void onError(Throwable reason) {
        failed.accept(reason);
      }

      @Override
      public void onComplete() {}
    };
  }

  /** Nobody would wake its exchange any more, and those behind it would not get their turn. */
  @Test
  void aFailureWithoutTextEndsItsOwnCallAlone() {
    FakeNet net = new FakeNet(2);
    net.keepsUncaught = true;
    net.rank(1).serve("fails", RpcHandler.response(m -> Mono.error(new Unspeakable())));
    net.rank(1).serve("f", RpcHandler.response(m -> Mono.just(Payload.ofInt(7))));
    Heard<Message> first = new Heard<>(1);
    Heard<Message> second = new Heard<>(1);
    net.rank(0).requestResponse(1, "fails", Payload.empty()).subscribe(first);
    net.rank(0).requestResponse(1, "f", Payload.empty()).subscribe(second);
    net.run();
    assertThat(net.uncaught).isEmpty();
    assertThat(first.error)
        .isInstanceOf(RemoteException.class)
        .hasMessageContaining(Unspeakable.class.getName());
    assertThat(second.items).hasSize(1);
    assertThat(net.open(0) + net.open(1)).isZero();
  }

  /** It is logged alone, and logs ask for its text. */
  @Test
  void aFailureWithoutTextOfWhatWasForgottenHarmsNobody() {
    FakeNet net = new FakeNet(2);
    net.keepsUncaught = true;
    net.rank(1).serve("fails", RpcHandler.forget(m -> Mono.error(new Unspeakable())));
    Heard<Void> heard = new Heard<>(1);
    net.rank(0).fireAndForget(1, "fails", Payload.empty()).subscribe(heard);
    net.run();
    assertThat(net.uncaught).isEmpty();
    assertThat(heard.completed).isTrue();
    assertThat(net.open(0) + net.open(1)).isZero();
  }

  /** Its inbox would fail, and with it all streams and calls of the rank. */
  @Test
  void aSubscriberThatThrowsWhatHasNoTextHarmsNobodyElse() {
    FakeNet net = new FakeNet(2);
    net.rank(1).publish("s", Flux.range(0, 5), Codec.INT);
    net.rank(1).serve("f", RpcHandler.response(m -> Mono.just(Payload.ofInt(7))));
    net.rank(0).subscribe(1, "s", Codec.INT).subscribe(throwing(new Unspeakable()));
    net.run();
    Heard<Message> heard = new Heard<>(1);
    net.rank(0).requestResponse(1, "f", Payload.empty()).subscribe(heard);
    net.run();
    assertThat(heard.items).hasSize(1);
    assertThat(net.faults).hasValue(1);
    assertThat(net.open(0) + net.open(1)).isZero();
  }

  /** It would be found where it is sent, and keep the session from going on. */
  @Test
  void aFailureNeedsItsCode() {
    assertThatThrownBy(() -> new RemoteException(null, "of a map that does not have it"))
        .isInstanceOf(NullPointerException.class)
        .hasMessage("code");
  }

  // Proves: Y2
  // On: inproc
  @Test
  void anItemOnItsWayIsPartOfTheDemand() {
    FakeNet net = new FakeNet(2);
    List<Long> asked = new ArrayList<>();
    net.rank(1).publish("s", Flux.range(0, 9).map(i -> LARGE).doOnRequest(asked::add), Codec.BYTES);
    Heard<byte[]> heard = new Heard<>(2);
    net.rank(0).subscribe(1, "s", Codec.BYTES).subscribe(heard);
    net.run();
    assertThat(heard.items).hasSize(2);
    assertThat(asked.stream().mapToLong(n -> n).sum()).isEqualTo(2);
    heard.request(3);
    net.run();
    assertThat(heard.items).hasSize(5);
    assertThat(asked.stream().mapToLong(n -> n).sum()).isEqualTo(5);
    heard.cancel();
    net.run();
  }

  /** It has sent its own end, so the peer is told by a cancel: an error would be a violation. */
  @ParameterizedTest
  @EnumSource(
      value = Kind.class,
      names = {"STREAM", "RESPONSE", "ANSWERS"})
  void aSubscriberThatThrowsDoesNotBlameItsPeer(Kind kind) {
    FakeNet net = new FakeNet(2);
    TestPublisher<Payload> answers = TestPublisher.create();
    Codec<Payload> codec =
        Codec.of((payload, out) -> payload.writeTo(out), in -> Payload.of(in.toByteArray()));
    net.rank(1).publish("s", answers, codec);
    net.rank(1)
        .serve(
            "f",
            new RpcHandler() {
              @Override
              public Mono<Payload> requestResponse(Message request) {
                return answers.mono();
              }

              @Override
              public Publisher<Payload> requestStream(Message request) {
                return answers;
              }
            });
    switch (kind) {
      case STREAM -> net.rank(0).subscribe(1, "s", Codec.BYTES).subscribe(throwing());
      case RESPONSE -> net.rank(0).requestResponse(1, "f", Payload.empty()).subscribe(throwing());
      default -> net.rank(0).requestStream(1, "f", Payload.empty()).subscribe(throwing());
    }
    net.run();
    answers.next(Payload.ofInt(1));
    net.run();
    if (kind != Kind.RESPONSE) { // it has ended by itself
      answers.assertCancelled();
    }
    assertThat(net.faults.get()).isPositive();
    assertThat(net.counter(0, "link_violations") + net.counter(1, "link_violations")).isZero();
    assertThat(net.open(0) + net.open(1)).isZero();
  }

  /** It counts as cancelled (Reactive Streams 2.13). */
  @Test
  void aSubscriberThatThrowsHearsNoMore() {
    FakeNet net = new FakeNet(2);
    net.keepsUncaught = true;
    TestPublisher<Integer> items = TestPublisher.create();
    net.rank(1).publish("s", items, Codec.INT);
    AtomicReference<Subscription> subscription = new AtomicReference<>();
    List<Throwable> errors = new ArrayList<>();
    net.rank(0)
        .subscribe(1, "s", Codec.INT)
        .subscribe(
            throwing(new IllegalStateException("as wanted"), subscription::set, errors::add));
    subscription.get().request(5);
    net.run();
    items.next(1);
    items.error(new IllegalStateException("later"));
    net.run();
    assertThat(net.faults.get()).isPositive();
    assertThat(errors).isEmpty();
    assertThat(net.open(0) + net.open(1)).isZero();
  }

  /** The same of a request that had come before it was asked for. */
  @Test
  void aHandlersSubscriberThatThrowsHearsNoMore() {
    FakeNet net = new FakeNet(2);
    net.keepsUncaught = true;
    AtomicReference<Subscription> subscription = new AtomicReference<>();
    List<Throwable> errors = new ArrayList<>();
    net.rank(1)
        .serve(
            "f",
            RpcHandler.channel(
                requests -> {
                  requests.subscribe(
                      throwing(
                          new IllegalStateException("as wanted"), subscription::set, errors::add));
                  return Flux.never();
                }));
    TestPublisher<Payload> requests = TestPublisher.create();
    net.rank(0).requestChannel(1, "f", requests).subscribe(new Heard<>(1));
    net.run();
    requests.next(Payload.ofInt(1));
    net.run();
    subscription.get().request(5);
    net.settle();
    requests.error(new IllegalStateException("later"));
    net.run();
    assertThat(net.faults.get()).isPositive();
    assertThat(errors).isEmpty();
    assertThat(net.open(0) + net.open(1)).isZero();
  }

  @Test
  void aCodecThatReturnsNullEndsItsStream() {
    FakeNet net = new FakeNet(2);
    net.rank(1).publish("s", Flux.range(0, 5), Codec.INT);
    Codec<Integer> nothing = Codec.of((item, out) -> out.putInt(item), in -> null);
    Heard<Integer> heard = new Heard<>(5);
    net.rank(0).subscribe(1, "s", nothing).subscribe(heard);
    net.run();
    assertThat(heard.error)
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("returned null");
    assertThat(net.open(0) + net.open(1)).isZero();
  }

  /** An encoder may run out of a buffer of its own: that is no item beyond the limit. */
  @Test
  void anEncodersOwnOverflowIsNotTakenForTheLimit() {
    FakeNet net = new FakeNet(2);
    Codec<Integer> overflows =
        Codec.of((item, out) -> ByteBuffer.allocate(1).putInt(item), in -> in.getInt(0));
    net.rank(1).publish("s", Flux.just(1), overflows);
    Heard<Integer> heard = new Heard<>(5);
    net.rank(0).subscribe(1, "s", overflows).subscribe(heard);
    net.run();
    assertThat(heard.error)
        .isInstanceOf(RemoteException.class)
        .hasMessageContaining("BufferOverflowException");
  }

  /** The limits of both ranks may differ. */
  @Test
  void anItemBeyondTheLimitIsRefusedByACancel() {
    FakeNet net =
        new FakeNet(
            2,
            LciOptions.builder()
                .streamLimits(StreamLimits.builder().itemBytes(1_000).build())
                .build(),
            null);
    net.rank(1).publish("s", Flux.never(), Codec.INT);
    Heard<Integer> heard = new Heard<>(5);
    net.rank(0).subscribe(1, "s", Codec.INT).subscribe(heard);
    net.run();
    FakeNet.Recorder out = new FakeNet.Recorder();
    OutFrame.data(1, 0, new OutFrame.Part(0, 1_001, 0, new byte[8], 0, 8))
        .numbered(1, 0)
        .writeTo(out);
    net.inject(1, 0, out.tag, out.bytes.toByteArray());
    assertThat(heard.error).isInstanceOf(ResourceExhaustedException.class);
    assertThat(net.packets).extracting(FakeNet.Packet::type).containsExactly(FrameType.CANCEL);
    assertThat(net.open(0)).isZero();
  }

  @Test
  void aSubscriberThatThrowsAtItsErrorStopsNoOthers() {
    FakeNet net =
        new FakeNet(
            2,
            LciOptions.builder().streamLimits(StreamLimits.builder().streams(1).build()).build(),
            null);
    net.keepsUncaught = true;
    net.rank(1).publish("s", Flux.never(), Codec.INT);
    net.rank(1).serve("f", RpcHandler.response(m -> Mono.just(Payload.ofInt(7))));
    Heard<Integer> first = new Heard<>(1);
    Heard<Message> last = new Heard<>(1);
    net.rank(0).subscribe(1, "s", Codec.INT).subscribe(first);
    net.rank(0).subscribe(1, "s", Codec.INT).subscribe(throwing()); // one too many
    net.rank(0).requestResponse(1, "f", Payload.empty()).subscribe(last);
    net.run();
    assertThat(last.items).hasSize(1);
    assertThat(net.uncaught).isEmpty();
    first.cancel();
    net.run();
    assertThat(net.open(0) + net.open(1)).isZero();
  }

  @Test
  void requestsThatCannotBeCancelledKeepNoEndFromTheirCaller() {
    FakeNet net = new FakeNet(2);
    net.keepsUncaught = true;
    net.rank(1).serve("f", RpcHandler.channel(requests -> requests.thenMany(Flux.never())));
    Heard<Message> late = new Heard<>(1);
    Heard<Message> lost = new Heard<>(1);
    Heard<Message> gone = new Heard<>(1);
    CallOptions second = CallOptions.builder().deadline(Duration.ofSeconds(1)).build();
    net.rank(0).requestChannel(1, "f", new Broken(false), second).subscribe(late);
    net.rank(0).requestChannel(1, "f", new Broken(false)).subscribe(lost);
    net.rank(0).requestChannel(1, "f", new Broken(false)).subscribe(gone);
    net.run();
    assertThat(net.open(1)).isEqualTo(3);
    net.clock.advanceTimeBy(Duration.ofSeconds(1));
    net.run();
    assertThat(late.error).isInstanceOf(DeadlineExceededException.class);
    gone.cancel();
    net.run();
    assertThat(net.open(0)).isEqualTo(1);
    assertThat(net.open(1)).isEqualTo(1);
    net.die(1, PeerEvent.State.FAILED);
    assertThat(lost.error).isInstanceOf(PeerFailedException.class);
    assertThat(net.open(0)).isZero();
    assertThat(net.uncaught).isEmpty();
  }

  /** Also when the answers have ended, and the caller has heard of that. */
  @Test
  void theDeadlineIsThatOfTheWholeCall() {
    FakeNet net = new FakeNet(2);
    Heard<Message> requests = new Heard<>(5);
    net.rank(1)
        .serve(
            "f",
            RpcHandler.channel(
                all -> {
                  all.subscribe(requests);
                  return Flux.empty();
                }));
    TestPublisher<Payload> source = TestPublisher.create();
    Heard<Message> heard = new Heard<>(5);
    CallOptions second = CallOptions.builder().deadline(Duration.ofSeconds(1)).build();
    net.rank(0).requestChannel(1, "f", source, second).subscribe(heard);
    net.run();
    assertThat(heard.completed).isTrue();
    assertThat(net.open(0)).isEqualTo(1);
    net.clock.advanceTimeBy(Duration.ofSeconds(1));
    net.run();
    source.assertCancelled();
    assertThat(requests.error).isInstanceOf(OperationCancelledException.class);
    assertThat(net.open(0) + net.open(1)).isZero();
  }

  @Test
  void aSourceThatThrowsWhenItIsAskedEndsItsExchange() {
    FakeNet net = new FakeNet(2);
    net.keepsUncaught = true;
    net.rank(1).serve("f", RpcHandler.stream(m -> new Broken(true)));
    Heard<Message> heard = new Heard<>(1);
    net.rank(0).requestStream(1, "f", Payload.empty()).subscribe(heard);
    net.run();
    assertThat(heard.error)
        .isInstanceOf(RemoteException.class)
        .hasMessageContaining("no such file");
    assertThat(net.uncaught).isEmpty();
    assertThat(net.open(0) + net.open(1)).isZero();
  }

  /** On another thread the handler may come to its requests when its answers have ended. */
  @Test
  void whoComesLateToTheRequestsHearsOfTheirEnd() {
    FakeNet net = new FakeNet(2);
    AtomicReference<Flux<Message>> requests = new AtomicReference<>();
    net.rank(1)
        .serve(
            "f",
            RpcHandler.channel(
                all -> {
                  requests.set(all);
                  return Flux.just(Payload.ofInt(1));
                }));
    TestPublisher<Payload> source = TestPublisher.create();
    Heard<Message> heard = new Heard<>(5);
    net.rank(0).requestChannel(1, "f", source).subscribe(heard);
    net.run();
    assertThat(heard.completed).isTrue();
    source.assertCancelled();
    Heard<Message> late = new Heard<>(5);
    requests.get().subscribe(late);
    net.run();
    assertThat(late.error)
        .isInstanceOf(OperationCancelledException.class)
        .hasMessageContaining("answers ended");
    assertThat(net.open(0) + net.open(1)).isZero();
  }

  /** The caller had completed its requests: they are there, whatever became of the answers. */
  @Test
  void requestsThatHaveComeAreNotLostWithTheAnswers() {
    FakeNet net = new FakeNet(2);
    AtomicReference<Flux<Message>> requests = new AtomicReference<>();
    Sinks.Empty<Payload> answers = Sinks.empty();
    net.rank(1)
        .serve(
            "f",
            RpcHandler.channel(
                all -> {
                  requests.set(all);
                  return answers.asMono();
                }));
    Heard<Message> heard = new Heard<>(5);
    net.rank(0).requestChannel(1, "f", Flux.just(Payload.ofInt(7))).subscribe(heard);
    net.run();
    answers.tryEmitEmpty();
    net.run();
    Heard<Message> late = new Heard<>(5);
    requests.get().subscribe(late);
    net.run();
    assertThat(late.items).hasSize(1);
    assertThat(late.completed).isTrue();
  }

  @Test
  void aCallWhoseDeadlineCannotBeKeptEndsForItsObserverToo() {
    List<RpcExchange.Outcome> ended = new ArrayList<>();
    LciInstrumentation observer =
        new LciInstrumentation() {
          @Override
          public RpcExchange.Handle rpcStarted(RpcExchange exchange) {
            return ended::add;
          }
        };
    FakeNet net = new FakeNet(2, LciOptions.builder().instrumentation(observer).build(), null);
    net.rank(1).serve("f", RpcHandler.response(m -> Mono.never()));
    net.clock.dispose();
    Heard<Message> heard = new Heard<>(1);
    CallOptions second = CallOptions.builder().deadline(Duration.ofSeconds(1)).build();
    net.rank(0).requestResponse(1, "f", Payload.empty(), second).subscribe(heard);
    net.run();
    assertThat(heard.error)
        .isInstanceOf(LciClosedException.class)
        .hasMessageContaining("the timer takes no deadline")
        .hasCauseInstanceOf(RejectedExecutionException.class);
    assertThat(ended).containsExactly(RpcExchange.Outcome.ERROR);
    assertThat(net.sent).isEmpty();
  }

  /** Not of the kind that schedulers throw. */
  @Test
  void anErrorOfTheTimerIsTold() {
    LciOptions options = LciOptions.builder().timer(new RefusingTimer(true)).build();
    FakeNet net = new FakeNet(2, options, null);
    net.keepsUncaught = true;
    net.rank(1).serve("f", RpcHandler.response(m -> Mono.never()));
    Heard<Message> call = new Heard<>(1);
    CallOptions second = CallOptions.builder().deadline(Duration.ofSeconds(1)).build();
    net.rank(0).requestResponse(1, "f", Payload.empty(), second).subscribe(call);
    Heard<Integer> stream = new Heard<>(1);
    SubscribeOptions minute =
        SubscribeOptions.builder().awaitPublisher(Duration.ofMinutes(1)).build();
    net.rank(0).subscribe(1, "s", Codec.INT, minute).subscribe(stream);
    net.run();
    assertThat(call.error)
        .hasMessageContaining("the timer takes no deadline")
        .hasCause(RefusingTimer.THROWN);
    assertThat(stream.error)
        .isInstanceOf(NoSuchStreamException.class)
        .hasMessageContaining("cannot wait for it");
    assertThat(net.open(0) + net.open(1)).isZero();
  }

  @Test
  void aDeadlineInTheFarFutureIsOne() {
    FakeNet net = new FakeNet(2);
    net.rank(1).serve("f", RpcHandler.response(m -> Mono.just(Payload.ofInt(1))));
    Heard<Message> heard = new Heard<>(1);
    CallOptions ever = CallOptions.builder().deadline(Duration.ofSeconds(Long.MAX_VALUE)).build();
    net.rank(0).requestResponse(1, "f", Payload.empty(), ever).subscribe(heard);
    net.run();
    assertThat(heard.error).isNull();
    assertThat(heard.items).hasSize(1);
  }

  /** Else the subscription would wait for ever. */
  @Test
  void whoCannotWaitForANameSaysSo() {
    FakeNet net = new FakeNet(2);
    net.clock.dispose();
    Heard<Integer> heard = new Heard<>(1);
    SubscribeOptions minute =
        SubscribeOptions.builder().awaitPublisher(Duration.ofMinutes(1)).build();
    net.rank(0).subscribe(1, "s", Codec.INT, minute).subscribe(heard);
    net.run();
    assertThat(heard.error)
        .isInstanceOf(NoSuchStreamException.class)
        .hasMessageContaining("cannot wait for it");
    net.rank(1).publish("s", Flux.just(1), Codec.INT);
    net.run();
    assertThat(net.open(0) + net.open(1)).isZero();
  }
}
