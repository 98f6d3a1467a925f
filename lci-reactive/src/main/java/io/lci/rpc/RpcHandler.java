/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.rpc;

import io.lci.Codec;
import io.lci.am.Message;
import io.lci.am.Payload;
import java.util.Objects;
import java.util.function.Function;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * A function that other ranks call. Implement the interactions that it has; a call of another
 * interaction ends with {@link io.lci.error.NoSuchFunctionException}.
 *
 * <p>Methods are called on loop 0, once per call, and must not block: leave the loop by {@code
 * subscribeOn} or {@code publishOn}. The library subscribes to the returned publisher there once,
 * requests as much as the caller requests, and cancels it when the caller cancels or its rank is
 * gone. The publisher may signal on any thread. Errors, thrown or signalled, reach the caller as
 * code and message ({@link io.lci.error.RemoteException}). Payloads are written on loop 0 when
 * their turn comes, and must not change after they were emitted.
 *
 * @since 0.1
 */
public interface RpcHandler {
  /**
   * A request without an answer.
   *
   * @param request the payload, and the caller's rank; tag 0
   * @return ends when the request was dealt with: until then it takes one of the caller's places
   *     ({@link io.lci.stream.StreamLimits#requests()}). An error is logged here, and does not
   *     reach the caller
   */
  default Mono<Void> fireAndForget(Message request) {
    throw RpcHandlers.missing();
  }

  /**
   * A request with one answer.
   *
   * @param request the payload, and the caller's rank
   * @return the answer; empty is an answer, too
   */
  default Mono<? extends Payload> requestResponse(Message request) {
    throw RpcHandlers.missing();
  }

  /**
   * A request with a stream of answers.
   *
   * @param request the payload, and the caller's rank
   * @return the answers
   */
  default Publisher<? extends Payload> requestStream(Message request) {
    throw RpcHandlers.missing();
  }

  /**
   * A stream of requests with a stream of answers.
   *
   * @param rank the caller
   * @param requests subscribe once, on any thread; signals on loop 0. Demand travels to the caller,
   *     and so does a cancel, which leaves the answers alone. Fails with the caller's error, with
   *     {@link io.lci.error.OperationCancelledException} when the caller cancels the whole call,
   *     and with the end of its rank. Without a subscriber it is cancelled when the answers end; a
   *     later subscriber gets {@link io.lci.error.OperationCancelledException}, too
   * @return the answers; they may go on when the requests have ended, and the other way round. An
   *     error ends both
   */
  default Publisher<? extends Payload> requestChannel(int rank, Flux<Message> requests) {
    throw RpcHandlers.missing();
  }

  /**
   * A handler of fire-and-forget alone.
   *
   * @param function called with the request
   * @return the handler
   */
  static RpcHandler forget(Function<? super Message, Mono<Void>> function) {
    Objects.requireNonNull(function, "function");
    return new RpcHandler() {
      @Override
      public Mono<Void> fireAndForget(Message request) {
        return function.apply(request);
      }
    };
  }

  /**
   * A handler of request-response alone.
   *
   * @param function called with the request
   * @return the handler
   */
  static RpcHandler response(
      Function<? super Message, ? extends Mono<? extends Payload>> function) {
    Objects.requireNonNull(function, "function");
    return new RpcHandler() {
      @Override
      public Mono<? extends Payload> requestResponse(Message request) {
        return function.apply(request);
      }
    };
  }

  /**
   * A handler of request-stream alone.
   *
   * @param function called with the request
   * @return the handler
   */
  static RpcHandler stream(
      Function<? super Message, ? extends Publisher<? extends Payload>> function) {
    Objects.requireNonNull(function, "function");
    return new RpcHandler() {
      @Override
      public Publisher<? extends Payload> requestStream(Message request) {
        return function.apply(request);
      }
    };
  }

  /**
   * A handler of request-channel alone.
   *
   * @param function called with the requests
   * @return the handler
   */
  static RpcHandler channel(
      Function<? super Flux<Message>, ? extends Publisher<? extends Payload>> function) {
    Objects.requireNonNull(function, "function");
    return new RpcHandler() {
      @Override
      public Publisher<? extends Payload> requestChannel(int rank, Flux<Message> requests) {
        return function.apply(requests);
      }
    };
  }

  // By codecs

  /**
   * A handler of fire-and-forget alone, by a codec.
   *
   * @param requests decodes the request on loop 0; an exception is an error of the handler
   * @param function called with the request
   * @param <A> type of request
   * @return the handler
   */
  static <A> RpcHandler forget(Codec<A> requests, Function<? super A, Mono<Void>> function) {
    Objects.requireNonNull(requests, "requests");
    Objects.requireNonNull(function, "function");
    return forget(request -> function.apply(requests.decode(request)));
  }

  /**
   * A handler of request-response alone, by codecs.
   *
   * @param requests decodes the request on loop 0; an exception is an error of the handler
   * @param answers encodes the answer on loop 0
   * @param function called with the request
   * @param <A> type of request
   * @param <R> type of answer
   * @return the handler
   */
  static <A, R> RpcHandler response(
      Codec<A> requests,
      Codec<R> answers,
      Function<? super A, ? extends Mono<? extends R>> function) {
    Objects.requireNonNull(requests, "requests");
    Objects.requireNonNull(answers, "answers");
    Objects.requireNonNull(function, "function");
    return RpcCodecs.response(requests, answers, function);
  }

  /**
   * A handler of request-stream alone, by codecs.
   *
   * @param requests decodes the request on loop 0; an exception is an error of the handler
   * @param answers encodes the answers on loop 0
   * @param function called with the request
   * @param <A> type of request
   * @param <R> type of answer
   * @return the handler
   */
  static <A, R> RpcHandler stream(
      Codec<A> requests,
      Codec<R> answers,
      Function<? super A, ? extends Publisher<? extends R>> function) {
    Objects.requireNonNull(requests, "requests");
    Objects.requireNonNull(answers, "answers");
    Objects.requireNonNull(function, "function");
    return RpcCodecs.stream(requests, answers, function);
  }

  /**
   * A handler of request-channel alone, by codecs.
   *
   * @param requests decodes the requests on loop 0; an exception cancels them, and the function's
   *     subscriber gets it
   * @param answers encodes the answers on loop 0
   * @param function called with the requests
   * @param <A> type of request
   * @param <R> type of answer
   * @return the handler
   */
  static <A, R> RpcHandler channel(
      Codec<A> requests,
      Codec<R> answers,
      Function<? super Flux<A>, ? extends Publisher<? extends R>> function) {
    Objects.requireNonNull(requests, "requests");
    Objects.requireNonNull(answers, "answers");
    Objects.requireNonNull(function, "function");
    return RpcCodecs.channel(requests, answers, function);
  }
}
