/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.Codec;
import io.lci.LciInstrumentation;
import io.lci.LciOptions;
import io.lci.PeerEvent;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.error.DeadlineExceededException;
import io.lci.error.PeerFailedException;
import io.lci.internal.DroppedErrors;
import io.lci.internal.UnstoppableTimer;
import io.lci.internal.UnstoppableTimer.Which;
import io.lci.rpc.CallOptions;
import io.lci.rpc.RpcExchange;
import io.lci.rpc.RpcExchange.Outcome;
import io.lci.rpc.RpcHandler;
import io.lci.stream.SubscribeOptions;
import io.lci.testing.LciLeakCheck;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.util.context.Context;

/** A timer that cannot be stopped keeps no caller from its end. */
@ExtendWith(LciLeakCheck.class)
class UnstoppableTimerTest {
  private static final Duration LIMIT = Duration.ofSeconds(1);
  private static final CallOptions BOUNDED = CallOptions.builder().deadline(LIMIT).build();

  private final List<Throwable> dropped = new ArrayList<>();
  private final List<Outcome> ended = new ArrayList<>();
  private UnstoppableTimer timer;

  static Stream<Throwable> thrown() {
    return Stream.of(new IllegalStateException("broken"), new AssertionError("broken"));
  }

  private FakeNet net(Throwable thrown) {
    timer = new UnstoppableTimer(thrown, Which.SINGLE);
    LciInstrumentation observer =
        new LciInstrumentation() {
          @Override
          public RpcExchange.Handle rpcStarted(RpcExchange exchange) {
            return exchange.side() == RpcExchange.Side.CLIENT ? ended::add : outcome -> {};
          }
        };
    FakeNet net =
        new FakeNet(2, LciOptions.builder().timer(timer).instrumentation(observer).build(), null);
    net.keepsUncaught = true;
    return net;
  }

  private <T> Mono<T> hearing(Mono<T> call, Consumer<Throwable> drops) {
    return call.contextWrite(Context.of("reactor.onErrorDropped.local", drops));
  }

  private Heard<Message> call(FakeNet net) {
    Heard<Message> heard = new Heard<>(1);
    hearing(net.rank(0).requestResponse(1, "f", Payload.empty(), BOUNDED), dropped::add)
        .subscribe(heard);
    net.run();
    return heard;
  }

  private void isOver(FakeNet net, Throwable thrown, Outcome outcome) {
    assertThat(dropped).containsExactly(thrown);
    assertThat(ended).containsExactly(outcome);
    assertThat(net.open(0)).isZero();
    assertThat(net.uncaught).isEmpty();
    assertThat(net.faults).hasValue(0);
  }

  @ParameterizedTest
  @MethodSource("thrown")
  void anAnswerComes(Throwable thrown) {
    FakeNet net = net(thrown);
    net.rank(1).serve("f", RpcHandler.response(m -> Mono.just(Payload.ofInt(7))));
    Heard<Message> heard = call(net);
    assertThat(heard.items).hasSize(1);
    assertThat(heard.completed).isTrue();
    isOver(net, thrown, Outcome.SUCCESS);
  }

  @ParameterizedTest
  @MethodSource("thrown")
  void anEndWithoutAnswerComes(Throwable thrown) {
    FakeNet net = net(thrown);
    net.rank(1).serve("f", RpcHandler.response(m -> Mono.empty()));
    Heard<Message> heard = call(net);
    assertThat(heard.completed).isTrue();
    isOver(net, thrown, Outcome.SUCCESS);
  }

  @ParameterizedTest
  @MethodSource("thrown")
  void theDeathOfThePeerIsTold(Throwable thrown) {
    FakeNet net = net(thrown);
    net.rank(1).serve("f", RpcHandler.response(m -> Mono.never()));
    Heard<Message> heard = call(net);
    net.die(1, PeerEvent.State.FAILED);
    assertThat(heard.error).isInstanceOf(PeerFailedException.class);
    isOver(net, thrown, Outcome.LOST);
  }

  @ParameterizedTest
  @MethodSource("thrown")
  void theDeadlineIsTold(Throwable thrown) {
    FakeNet net = net(thrown);
    net.rank(1).serve("f", RpcHandler.response(m -> Mono.never()));
    Heard<Message> heard = call(net);
    timer.clock.advanceTimeBy(LIMIT);
    net.run();
    assertThat(heard.error).isInstanceOf(DeadlineExceededException.class);
    isOver(net, thrown, Outcome.DEADLINE);
  }

  /** The hook is the program's, too. */
  @Test
  void aHookThatThrowsKeepsNobodyWaiting() {
    Throwable thrown = new IllegalStateException("broken");
    FakeNet net = net(thrown);
    net.rank(1).serve("f", RpcHandler.response(m -> Mono.just(Payload.ofInt(7))));
    Heard<Message> heard = new Heard<>(1);
    hearing(
            net.rank(0).requestResponse(1, "f", Payload.empty(), BOUNDED),
            e -> {
              dropped.add(e);
              throw new IllegalStateException("the hook is broken, too");
            })
        .subscribe(heard);
    net.run();
    assertThat(heard.completed).isTrue();
    assertThat(dropped).containsExactly(thrown);
    assertThat(net.faults).hasValue(1);
    assertThat(net.open(0) + net.open(1)).isZero();
  }

  @ParameterizedTest
  @MethodSource("thrown")
  void whoWaitedForANameGetsItsStream(Throwable thrown) {
    FakeNet net = net(thrown);
    Heard<Integer> first = new Heard<>(5);
    Heard<Integer> second = new Heard<>(5);
    SubscribeOptions waits = SubscribeOptions.builder().awaitPublisher(LIMIT).build();
    net.rank(0).subscribe(1, "s", Codec.INT, waits).subscribe(first);
    net.rank(0).subscribe(1, "s", Codec.INT, waits).subscribe(second);
    net.run();
    try (DroppedErrors drops = new DroppedErrors()) {
      net.rank(1).publish("s", Flux.just(1, 2), Codec.INT);
      net.run();
      assertThat(drops.all).containsExactly(thrown, thrown);
    }
    assertThat(first.items).containsExactly(1, 2);
    assertThat(second.items).containsExactly(1, 2);
    assertThat(first.completed && second.completed).isTrue();
    assertThat(net.uncaught).isEmpty();
    assertThat(net.open(0) + net.open(1)).isZero();
  }
}
