/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.LciInstrumentation;
import io.lci.LciOptions;
import io.lci.PeerEvent;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.error.DeadlineExceededException;
import io.lci.error.RemoteException;
import io.lci.rpc.CallOptions;
import io.lci.rpc.Interaction;
import io.lci.rpc.RpcExchange;
import io.lci.rpc.RpcHandler;
import io.lci.stream.StreamLimits;
import io.lci.testing.LciLeakCheck;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.util.context.Context;

/** What the observer of calls sees on both sides, what travels for it, and deadlines. */
@ExtendWith(LciLeakCheck.class)
class ObservedTest {
  private static final String TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  private static final CallOptions SECOND =
      CallOptions.builder().deadline(Duration.ofSeconds(1)).build();

  private final List<String> seen = new ArrayList<>();
  private final LciInstrumentation observer =
      new LciInstrumentation() {
        @Override
        public RpcExchange.Handle rpcStarted(RpcExchange exchange) {
          String who =
              exchange.side()
                  + " "
                  + exchange.interaction()
                  + " "
                  + exchange.function()
                  + " of "
                  + exchange.rank();
          if (exchange.side() == RpcExchange.Side.CLIENT) {
            exchange.context().<String>getOrEmpty("trace").ifPresent(exchange::traceparent);
          } else if (exchange.traceparent() != null) {
            seen.add("came " + exchange.traceparent());
          }
          return new RpcExchange.Handle() {
            @Override
            public void ended(RpcExchange.Outcome outcome) {
              seen.add(who + ": " + outcome);
            }

            @Override
            public Context handlerContext(Context context) {
              return context.put("span", "of " + exchange.function());
            }
          };
        }
      };
  private final FakeNet net = new FakeNet(2, options(StreamLimits.defaults()), null);

  private LciOptions options(StreamLimits limits) {
    return LciOptions.builder().instrumentation(observer).streamLimits(limits).build();
  }

  @Test
  void aTraceTravelsAndTheHandlerHasItsContext() {
    net.rank(1)
        .serve(
            "f",
            RpcHandler.response(
                m -> Mono.deferContextual(c -> Mono.just(Payload.ofUtf8(c.get("span"))))));
    Heard<Message> heard = new Heard<>(1);
    net.rank(0)
        .requestResponse(1, "f", Payload.empty())
        .contextWrite(c -> c.put("trace", TRACE))
        .subscribe(heard);
    net.run();
    assertThat(heard.items.get(0).utf8()).isEqualTo("of f");
    assertThat(seen)
        .containsExactly(
            "came " + TRACE,
            "SERVER REQUEST_RESPONSE f of 0: SUCCESS",
            "CLIENT REQUEST_RESPONSE f of 1: SUCCESS");
  }

  @Test
  void eachInteractionIsSeenOnBothSides() {
    net.rank(1)
        .serve(
            "f",
            new RpcHandler() {
              @Override
              public Mono<Void> fireAndForget(Message request) {
                return Mono.empty();
              }

              @Override
              public Flux<Payload> requestStream(Message request) {
                return Flux.just(Payload.empty());
              }

              @Override
              public Flux<Payload> requestChannel(int rank, Flux<Message> requests) {
                return requests.map(m -> Payload.empty());
              }
            });
    for (Flux<?> each :
        List.<Flux<?>>of(
            net.rank(0).fireAndForget(1, "f", Payload.empty()).flux(),
            net.rank(0).requestStream(1, "f", Payload.empty()),
            net.rank(0).requestChannel(1, "f", Flux.just(Payload.empty())))) {
      Heard<Object> heard = new Heard<>(9);
      each.subscribe(heard);
      net.run();
      assertThat(heard.completed).isTrue();
    }
    for (Interaction each : Interaction.values()) {
      if (each != Interaction.REQUEST_RESPONSE) {
        assertThat(seen).contains("SERVER " + each + " f of 0: SUCCESS");
        assertThat(seen).contains("CLIENT " + each + " f of 1: SUCCESS");
      }
    }
    assertThat(seen).hasSize(6);
  }

  @Test
  void outcomesAreToldApart() {
    net.rank(1)
        .serve("fails", RpcHandler.response(m -> Mono.error(new IllegalStateException("no"))));
    net.rank(1)
        .serve(
            "throws",
            RpcHandler.response(
                m -> {
                  throw new RemoteException("mine", "why");
                }));
    net.rank(1).serve("null", RpcHandler.response(m -> null));
    net.rank(1).serve("never", RpcHandler.response(m -> Mono.never()));
    assertThat(failure("fails"))
        .isInstanceOfSatisfying(
            RemoteException.class,
            e -> {
              assertThat(e.code()).isEqualTo(RemoteException.APPLICATION);
              assertThat(e.hint()).isEqualTo("java.lang.IllegalStateException: no");
              assertThat(e).hasMessageStartingWith("request-response \"fails\" rank 1");
            });
    assertThat(failure("throws"))
        .isInstanceOfSatisfying(
            RemoteException.class, e -> assertThat(e.code() + e.hint()).isEqualTo("minewhy"));
    assertThat(failure("null")).hasMessageContaining("returned null");
    assertThat(failure("unknown")).isNotNull();
    Heard<Message> late = call("never", SECOND);
    net.run();
    net.clock.advanceTimeBy(Duration.ofSeconds(1));
    net.run();
    assertThat(late.error)
        .isInstanceOf(DeadlineExceededException.class)
        .hasMessageContaining("PT1S passed; it was sent; 0 items came back");
    Heard<Message> cancelled = call("never", CallOptions.defaults());
    net.run();
    cancelled.cancel();
    net.run();
    Heard<Message> lost = call("never", CallOptions.defaults());
    net.run();
    net.die(1, PeerEvent.State.FAILED);
    net.run();
    assertThat(lost.error).isNotNull();
    assertThat(seen.stream().filter(line -> line.startsWith("CLIENT")))
        .containsExactly(
            "CLIENT REQUEST_RESPONSE fails of 1: ERROR",
            "CLIENT REQUEST_RESPONSE throws of 1: ERROR",
            "CLIENT REQUEST_RESPONSE null of 1: ERROR",
            "CLIENT REQUEST_RESPONSE unknown of 1: ERROR",
            "CLIENT REQUEST_RESPONSE never of 1: DEADLINE",
            "CLIENT REQUEST_RESPONSE never of 1: CANCELLED",
            "CLIENT REQUEST_RESPONSE never of 1: LOST");
    assertThat(seen.stream().filter(line -> line.startsWith("SERVER")))
        .containsExactly(
            "SERVER REQUEST_RESPONSE fails of 0: ERROR",
            "SERVER REQUEST_RESPONSE throws of 0: ERROR",
            "SERVER REQUEST_RESPONSE null of 0: ERROR",
            "SERVER REQUEST_RESPONSE never of 0: CANCELLED",
            "SERVER REQUEST_RESPONSE never of 0: CANCELLED");
  }

  private Heard<Message> call(String function, CallOptions options) {
    Heard<Message> heard = new Heard<>(1);
    net.rank(0).requestResponse(1, function, Payload.empty(), options).subscribe(heard);
    return heard;
  }

  private Throwable failure(String function) {
    Heard<Message> heard = call(function, CallOptions.defaults());
    net.run();
    return heard.error;
  }

  @Test
  void aDeadlineAlsoEndsWhatWaitsForAPlace() {
    FakeNet small = new FakeNet(2, options(StreamLimits.builder().requests(1).build()), null);
    small.rank(1).serve("never", RpcHandler.response(m -> Mono.never()));
    Heard<Message> first = new Heard<>(1);
    Heard<Message> second = new Heard<>(1);
    small.rank(0).requestResponse(1, "never", Payload.empty()).subscribe(first);
    small.rank(0).requestResponse(1, "never", Payload.empty(), SECOND).subscribe(second);
    small.run();
    small.clock.advanceTimeBy(Duration.ofSeconds(1));
    small.run();
    assertThat(second.error).hasMessageContaining("waiting for a place");
    assertThat(first.hasEnded()).isFalse();
    assertThat(small.sent).extracting(FakeNet.Packet::type).containsExactly(FrameType.OPEN);
    first.cancel();
    small.run();
    assertThat(small.open(0) + small.open(1)).isZero();
  }

  @Test
  void anObserverThatThrowsHarmsNobody() {
    LciInstrumentation broken =
        new LciInstrumentation() {
          @Override
          public RpcExchange.Handle rpcStarted(RpcExchange exchange) {
            if (exchange.side() == RpcExchange.Side.CLIENT) {
              throw new IllegalStateException("observer");
            }
            assertThatThrownBy(() -> exchange.traceparent("x"))
                .isInstanceOf(IllegalStateException.class);
            return outcome -> {
              throw new IllegalStateException("handle");
            };
          }
        };
    FakeNet other = new FakeNet(2, LciOptions.builder().instrumentation(broken).build(), null);
    other.rank(1).serve("f", RpcHandler.response(m -> Mono.just(Payload.ofInt(3))));
    Heard<Message> heard = new Heard<>(1);
    other.rank(0).requestResponse(1, "f", Payload.empty()).subscribe(heard);
    other.run();
    assertThat(heard.items.get(0).getInt(0)).isEqualTo(3);
  }
}
