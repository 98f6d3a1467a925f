/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import io.lci.Codec;
import io.lci.LciRuntime;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.error.DeadlineExceededException;
import io.lci.error.LciException;
import io.lci.internal.loop.TimerRefusal;
import io.lci.rpc.CallOptions;
import io.lci.rpc.Rpc;
import io.lci.rpc.RpcExchange.Outcome;
import io.lci.rpc.RpcHandler;
import io.lci.stream.Streams;
import io.lci.stream.SubscribeOptions;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.CoreSubscriber;
import reactor.core.Disposable;
import reactor.core.Exceptions;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;

/** Streams and RPC as users see them: each subscription begins an exchange in a session. */
public final class Sessions implements Streams, Rpc {
  private final Home home;
  private final int ranks;
  private final SessionTable table;

  /** Any thread; {@link #open()} follows. */
  public Sessions(LciRuntime runtime, Home home) {
    this.home = home;
    this.ranks = runtime.size();
    this.table = new SessionTable(runtime, home);
  }

  /** Opens the port: from now on peers can talk to this rank. */
  public void open() {
    table.open();
  }

  /** Adds what was counted. Any thread; values are recent. */
  public static void count(@Nullable Sessions sessions, Map<String, Long> into) {
    (sessions == null ? new SessionCounters() : sessions.table.counters()).addTo(into);
  }

  /** The session with a peer. Loop only. */
  Session session(int rank) {
    return table.session(rank);
  }

  // Calls

  private <T> Exchange begin(Call<T> call, Tap<T> tap) {
    Session session = table.session(call.rank());
    Observed observed = table.functions().client(call, tap.context());
    String trace = observed == null ? null : observed.traceparent();
    byte[] traceBytes =
        trace == null ? new byte[0] : OutFrame.utf8(trace, io.lci.rpc.RpcExchange.MAX_TRACEPARENT);
    Exchange exchange =
        Exchange.mine(
            session,
            new OutFrame.Open(call.kind(), call.nameBytes(), traceBytes, call.awaitMillis()),
            call.name());
    exchange.receiver(tap);
    if (observed != null) {
      exchange.observed(observed);
    }
    Duration deadline = call.deadline();
    if (deadline != null) {
      try {
        exchange.timer(
            table.later(() -> expired(exchange, tap, deadline), deadline), tap.context());
      } catch (Throwable e) { // it was disposed, or is the user's own
        Exceptions.throwIfJvmFatal(e);
        LciException refused =
            TimerRefusal.of(
                (code, hint) -> WireError.detail(exchange.operation(), call.rank(), code, hint),
                table.timer(),
                e);
        exchange.fail(refused, Outcome.ERROR); // its observer hears of the end, too
        return exchange;
      }
    }
    Payload request = call.request();
    Publisher<? extends Payload> requests = call.requests();
    if (request != null) {
      exchange.<Payload>outbound().of(request, Functions.PAYLOADS);
    } else if (requests != null) {
      exchange.<Payload>outbound().from(requests, Functions.PAYLOADS, tap.context());
    }
    session.start(exchange);
    return exchange;
  }

  private static void expired(Exchange exchange, Tap<?> tap, Duration deadline) {
    if (exchange.isClosed()) {
      return;
    }
    String progress = exchange.progress();
    exchange.cancel(Outcome.DEADLINE);
    tap.error(
        new DeadlineExceededException(
            WireError.detail(
                exchange.operation(),
                exchange.session.peer(),
                "error_timeout",
                "the deadline of " + deadline + " passed; it was " + progress)));
  }

  private <T> void begin(Call<T> call, CoreSubscriber<? super T> actual) {
    if (table.isClosed()) {
      Operators.error(actual, table.ended("subscribe"));
    } else {
      Tap.<T>subscribe(home, call.decoder(), actual, tap -> begin(call, tap));
    }
  }

  private <T> Flux<T> flux(Call<T> call) {
    return new Flux<>() {
      @Override
      public void subscribe(CoreSubscriber<? super T> actual) {
        begin(call, actual);
      }
    };
  }

  private <T> Mono<T> mono(Call<T> call) {
    return new Mono<>() {
      @Override
      public void subscribe(CoreSubscriber<? super T> actual) {
        begin(call, actual);
      }
    };
  }

  private void checkRank(int rank) {
    if (rank < 0 || rank >= ranks) {
      throw new IllegalArgumentException("ranks are 0 to " + (ranks - 1) + ": " + rank);
    }
  }

  private Call<Message> call(
      int rank,
      Kind kind,
      String function,
      @Nullable Payload request,
      @Nullable Publisher<? extends Payload> requests,
      CallOptions options) {
    checkRank(rank);
    Objects.requireNonNull(options, "options");
    return new Call<>(
        rank,
        kind,
        function,
        Names.bytes(function, "function"),
        0,
        message -> message,
        request,
        requests,
        options.deadline());
  }

  private void refuseClosed(String operation) {
    if (table.isClosed()) {
      throw table.ended(operation);
    }
    home.refuseClosed(operation);
  }

  // Streams

  @Override
  public <T> Disposable publish(String name, Publisher<? extends T> source, Codec<T> codec) {
    Names.bytes(name, "name");
    Objects.requireNonNull(source, "source");
    Objects.requireNonNull(codec, "codec");
    refuseClosed("publish \"" + name + '"');
    return table.names().publish(name, source, codec);
  }

  @Override
  public <T> Flux<T> subscribe(int rank, String name, Codec<T> codec, SubscribeOptions options) {
    checkRank(rank);
    byte[] nameBytes = Names.bytes(name, "name");
    Objects.requireNonNull(codec, "codec");
    Objects.requireNonNull(options, "options");
    int await = (int) options.awaitPublisher().toMillis();
    return flux(
        new Call<>(rank, Kind.STREAM, name, nameBytes, await, codec::decode, null, null, null));
  }

  // RPC

  @Override
  public Disposable serve(String function, RpcHandler handler) {
    Names.bytes(function, "function");
    Objects.requireNonNull(handler, "handler");
    refuseClosed("serve \"" + function + '"');
    return table.functions().serve(function, handler);
  }

  @Override
  public Mono<Void> fireAndForget(int rank, String function, Payload request, CallOptions options) {
    Objects.requireNonNull(request, "request");
    return mono(call(rank, Kind.FORGET, function, request, null, options)).then();
  }

  @Override
  public Mono<Message> requestResponse(
      int rank, String function, Payload request, CallOptions options) {
    Objects.requireNonNull(request, "request");
    return mono(call(rank, Kind.RESPONSE, function, request, null, options));
  }

  @Override
  public Flux<Message> requestStream(
      int rank, String function, Payload request, CallOptions options) {
    Objects.requireNonNull(request, "request");
    return flux(call(rank, Kind.ANSWERS, function, request, null, options));
  }

  @Override
  public Flux<Message> requestChannel(
      int rank, String function, Publisher<? extends Payload> requests, CallOptions options) {
    Objects.requireNonNull(requests, "requests");
    return flux(call(rank, Kind.CHANNEL, function, null, requests, options));
  }
}
