/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import io.lci.LciInstrumentation;
import io.lci.am.Encoder;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.am.PayloadWriter;
import io.lci.error.NoSuchFunctionException;
import io.lci.rpc.Interaction;
import io.lci.rpc.RpcHandler;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.CoreSubscriber;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.Exceptions;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.util.context.ContextView;

/** The functions that this rank serves. */
final class Functions {
  static final Encoder<Payload> PAYLOADS =
      new Encoder<>() {
        @Override
        public void encode(Payload payload, PayloadWriter out) {
          payload.writeTo(out);
        }

        @Override
        public int sizeHint(Payload payload) {
          return payload.size();
        }
      };

  private final LciInstrumentation observer;
  private final Map<String, RpcHandler> served = new ConcurrentHashMap<>();

  Functions(LciInstrumentation observer) {
    this.observer = observer;
  }

  Disposable serve(String function, RpcHandler handler) {
    RpcHandler other = served.putIfAbsent(function, handler);
    if (other != null) {
      throw new IllegalStateException("this rank serves \"" + function + "\" already: " + other);
    }
    return Disposables.composite(() -> served.remove(function, handler));
  }

  /** A call of this rank begins. */
  @Nullable Observed client(Call<?> call, ContextView context) {
    Interaction interaction = call.kind().interaction;
    return interaction == null
        ? null
        : Observed.client(observer, interaction, call.name(), call.rank(), context);
  }

  /** A peer calls. */
  void accept(Exchange exchange, String trace) {
    RpcHandler handler = served.get(exchange.name);
    if (handler == null) {
      refuse(exchange, "there is no such function");
    } else if (exchange.kind == Kind.CHANNEL) {
      Tap<Message> requests = Tap.requests(exchange);
      exchange.receiver(requests);
      Flux<Message> flux =
          new Flux<>() {
            @Override
            public void subscribe(CoreSubscriber<? super Message> actual) {
              requests.attach(actual);
            }
          };
      call(exchange, trace, () -> handler.requestChannel(exchange.session.peer(), flux));
    } else {
      exchange.receiver(new Request(this, exchange, handler, trace));
    }
  }

  private static void refuse(Exchange exchange, String why) {
    exchange.refuse(
        WireError.of(
            WireError.NO_FUNCTION, why + ": \"" + exchange.name + "\" as " + exchange.kind.title));
  }

  private void call(
      Exchange exchange, String trace, Supplier<Publisher<? extends Payload>> handler) {
    Observed observed =
        Observed.server(
            observer,
            Objects.requireNonNull(exchange.kind.interaction),
            exchange.name,
            exchange.session.peer(),
            trace);
    exchange.observed(observed);
    Publisher<? extends Payload> answers;
    try {
      answers = Objects.requireNonNull(handler.get(), "the handler returned null");
    } catch (NoSuchFunctionException e) {
      refuse(exchange, "it cannot be called so");
      return;
    } catch (Throwable e) {
      Exceptions.throwIfJvmFatal(e);
      answers = Flux.error(e);
    }
    exchange.answer(answers, PAYLOADS, observed.handlerContext());
  }

  /** Takes the only item of a request, and calls the handler. */
  private record Request(Functions functions, Exchange exchange, RpcHandler handler, String trace)
      implements Receiver {
    @Override
    public long demand() {
      return 0; // it comes unasked
    }

    @Override
    public void item(Message message) {
      functions.call(
          exchange,
          trace,
          () ->
              switch (exchange.kind) {
                case FORGET -> handler.fireAndForget(message).then(Mono.<Payload>empty());
                case RESPONSE -> handler.requestResponse(message);
                default -> handler.requestStream(message);
              });
    }

    @Override
    public void complete() {} // the item was all

    @Override
    public void error(Throwable reason) {} // the exchange cancels what it answers with
  }
}
