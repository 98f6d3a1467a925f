/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.rpc;

import io.lci.Codec;
import io.lci.am.Message;
import io.lci.am.Payload;
import java.util.Objects;
import org.reactivestreams.Publisher;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Calls of functions of other ranks, and of this one, by name. Thread-safe; one per runtime.
 *
 * <p>All publishers are cold: each subscription is one call, made at its first request, with
 * signals on loop 0. Demand and cancel travel. Besides its handler, these errors end a call: {@link
 * io.lci.error.NoSuchFunctionException}, {@link io.lci.error.PeerFailedException}, {@link
 * io.lci.error.PeerLeftException}, {@link io.lci.error.DeadlineExceededException}, {@link
 * io.lci.error.ResourceExhaustedException} at one of the {@link io.lci.stream.StreamLimits}, {@link
 * io.lci.error.ProtocolException}, {@link io.lci.error.LciClosedException}; a handler's failure
 * arrives as {@link io.lci.error.RemoteException}. Answers that were sent before the end are
 * delivered before it. Payloads are written on loop 0 when their turn comes.
 *
 * <p>The serving rank must call {@code LciRuntime.rpc()} or {@code streams()}. Until then calls to
 * it wait, as a message waits for a port that is not open.
 *
 * @since 0.1
 */
public interface Rpc {
  /** Most bytes of a function's name, in UTF-8. */
  int MAX_NAME = 255;

  /**
   * Serves a function.
   *
   * @param function its name: not empty, at most {@value #MAX_NAME} bytes
   * @param handler serves the calls
   * @return takes the name back when disposed: new calls get {@link
   *     io.lci.error.NoSuchFunctionException}, those under way go on
   * @throws IllegalStateException if this rank serves that name already
   * @throws io.lci.error.LciClosedException when the runtime closes, or was closed
   */
  Disposable serve(String function, RpcHandler handler);

  /**
   * Calls without an answer.
   *
   * @param rank the serving rank
   * @param function its name
   * @param request the payload
   * @param options deadline
   * @return completes when the request is on its way, which does not mean that the handler has
   *     dealt with it, or will; cancel before that withdraws it
   */
  Mono<Void> fireAndForget(int rank, String function, Payload request, CallOptions options);

  /**
   * Calls with one answer.
   *
   * @param rank the serving rank
   * @param function its name
   * @param request the payload
   * @param options deadline
   * @return emits the answer, or completes empty if the handler did; cancel reaches the handler
   */
  Mono<Message> requestResponse(int rank, String function, Payload request, CallOptions options);

  /**
   * Calls with a stream of answers.
   *
   * @param rank the serving rank
   * @param function its name
   * @param request the payload
   * @param options deadline
   * @return the answers, requested from the handler as the subscriber requests them, at most
   *     {@value io.lci.stream.StreamLimits#WINDOW} ahead; cancel reaches the handler
   */
  Flux<Message> requestStream(int rank, String function, Payload request, CallOptions options);

  /**
   * Calls with a stream of requests and one of answers.
   *
   * @param rank the serving rank
   * @param function its name
   * @param requests subscribed on loop 0 at the first request. The library requests one item, which
   *     goes out unasked, and then as many as the handler requests. Their error ends both
   *     directions, here with that error. They may go on after the answers completed
   * @param options deadline
   * @return the answers; cancel ends both directions
   */
  Flux<Message> requestChannel(
      int rank, String function, Publisher<? extends Payload> requests, CallOptions options);

  /**
   * As {@link #fireAndForget(int, String, Payload, CallOptions)} without a deadline.
   *
   * @param rank the serving rank
   * @param function its name
   * @param request the payload
   * @return as there
   */
  default Mono<Void> fireAndForget(int rank, String function, Payload request) {
    return fireAndForget(rank, function, request, CallOptions.defaults());
  }

  /**
   * As {@link #requestResponse(int, String, Payload, CallOptions)} without a deadline.
   *
   * @param rank the serving rank
   * @param function its name
   * @param request the payload
   * @return as there
   */
  default Mono<Message> requestResponse(int rank, String function, Payload request) {
    return requestResponse(rank, function, request, CallOptions.defaults());
  }

  /**
   * As {@link #requestStream(int, String, Payload, CallOptions)} without a deadline.
   *
   * @param rank the serving rank
   * @param function its name
   * @param request the payload
   * @return as there
   */
  default Flux<Message> requestStream(int rank, String function, Payload request) {
    return requestStream(rank, function, request, CallOptions.defaults());
  }

  /**
   * As {@link #requestChannel(int, String, Publisher, CallOptions)} without a deadline.
   *
   * @param rank the serving rank
   * @param function its name
   * @param requests the payloads
   * @return as there
   */
  default Flux<Message> requestChannel(
      int rank, String function, Publisher<? extends Payload> requests) {
    return requestChannel(rank, function, requests, CallOptions.defaults());
  }

  // By codecs

  /**
   * Calls without an answer, by a codec.
   *
   * @param rank the serving rank
   * @param function its name
   * @param request the request; it must not change until the end
   * @param requests encodes it on loop 0
   * @param options deadline
   * @param <A> type of request
   * @return as {@link #fireAndForget(int, String, Payload, CallOptions)}; fails with an exception
   *     of the codec
   */
  default <A> Mono<Void> fireAndForget(
      int rank, String function, A request, Codec<A> requests, CallOptions options) {
    return fireAndForget(rank, function, RpcCodecs.payload(request, requests), options);
  }

  /**
   * Calls with one answer, by codecs.
   *
   * @param rank the serving rank
   * @param function its name
   * @param request the request; it must not change until the end
   * @param requests encodes it on loop 0
   * @param answers decodes the answer on loop 0
   * @param options deadline
   * @param <A> type of request
   * @param <R> type of answer
   * @return as {@link #requestResponse(int, String, Payload, CallOptions)}; fails with an exception
   *     of a codec
   */
  default <A, R> Mono<R> requestResponse(
      int rank,
      String function,
      A request,
      Codec<A> requests,
      Codec<R> answers,
      CallOptions options) {
    Objects.requireNonNull(answers, "answers");
    return requestResponse(rank, function, RpcCodecs.payload(request, requests), options)
        .map(answers::decode);
  }

  /**
   * Calls with a stream of answers, by codecs.
   *
   * @param rank the serving rank
   * @param function its name
   * @param request the request; it must not change until the end
   * @param requests encodes it on loop 0
   * @param answers decodes the answers on loop 0
   * @param options deadline
   * @param <A> type of request
   * @param <R> type of answer
   * @return as {@link #requestStream(int, String, Payload, CallOptions)}; an exception of a codec
   *     ends the call, and cancels the handler's answers
   */
  default <A, R> Flux<R> requestStream(
      int rank,
      String function,
      A request,
      Codec<A> requests,
      Codec<R> answers,
      CallOptions options) {
    Objects.requireNonNull(answers, "answers");
    return requestStream(rank, function, RpcCodecs.payload(request, requests), options)
        .map(answers::decode);
  }

  /**
   * Calls with a stream of requests and one of answers, by codecs.
   *
   * @param rank the serving rank
   * @param function its name
   * @param items as in {@link #requestChannel(int, String, Publisher, CallOptions)}; an item must
   *     not change after it was emitted
   * @param requests encodes the items on loop 0
   * @param answers decodes the answers on loop 0
   * @param options deadline
   * @param <A> type of request
   * @param <R> type of answer
   * @return as there; an exception of a codec ends both directions
   */
  default <A, R> Flux<R> requestChannel(
      int rank,
      String function,
      Publisher<? extends A> items,
      Codec<A> requests,
      Codec<R> answers,
      CallOptions options) {
    Objects.requireNonNull(answers, "answers");
    return requestChannel(rank, function, RpcCodecs.payloads(items, requests), options)
        .map(answers::decode);
  }
}
