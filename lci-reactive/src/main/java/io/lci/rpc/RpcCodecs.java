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

/** Calls and handlers whose requests and answers are items, as those of payloads. */
final class RpcCodecs {
  private RpcCodecs() {}

  static <A> Payload payload(A request, Codec<A> requests) {
    Objects.requireNonNull(request, "request");
    Objects.requireNonNull(requests, "requests");
    return Payload.of(request, requests);
  }

  static <A> Flux<Payload> payloads(Publisher<? extends A> items, Codec<A> codec) {
    Objects.requireNonNull(items, "items");
    Objects.requireNonNull(codec, "requests");
    return Flux.from(items).map(item -> Payload.of(item, codec));
  }

  static <A, R> RpcHandler response(
      Codec<A> requests, Codec<R> answers, Function<? super A, ? extends Mono<? extends R>> f) {
    return RpcHandler.response(
        request -> f.apply(requests.decode(request)).map(answer -> Payload.of(answer, answers)));
  }

  static <A, R> RpcHandler stream(
      Codec<A> requests,
      Codec<R> answers,
      Function<? super A, ? extends Publisher<? extends R>> f) {
    return RpcHandler.stream(request -> encoded(f.apply(requests.decode(request)), answers));
  }

  static <A, R> RpcHandler channel(
      Codec<A> requests,
      Codec<R> answers,
      Function<? super Flux<A>, ? extends Publisher<? extends R>> f) {
    return RpcHandler.channel(
        (Flux<Message> items) -> encoded(f.apply(items.map(requests::decode)), answers));
  }

  private static <R> Flux<Payload> encoded(Publisher<? extends R> items, Codec<R> answers) {
    return Flux.from(items).map(item -> Payload.of(item, answers));
  }
}
