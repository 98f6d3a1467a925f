/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.am;

import io.lci.PostResult;
import java.util.function.ToIntFunction;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Sends active messages to one port of any rank. Immutable and thread-safe; publishers are cold,
 * and each subscription sends anew. A receiver without room is no error: the element waits in the
 * window, and when the window is full upstream is not asked for more.
 *
 * <p>Signals come on the home loop, or where {@link SenderOptions#signalOn()} says. A message fails
 * with {@link io.lci.error.PeerFailedException}, {@link io.lci.error.PeerLeftException}, {@link
 * io.lci.error.PortClosedException}, {@link io.lci.error.PortMismatchException}, {@link
 * io.lci.error.ResourceExhaustedException}, {@link io.lci.error.LciClosedException}, and with
 * {@link io.lci.error.DeadlineExceededException} when it misses {@link SenderOptions#deadline()}.
 *
 * @since 0.1
 */
public interface Sender {
  /** {@return the port} */
  Port port();

  /**
   * Sends one message. For many, {@link #sendAll} is several times cheaper.
   *
   * @param rank destination
   * @param payload what to send; the loop reads it at each attempt, and not after the message was
   *     accepted; but an {@link io.lci.rma.LciBuffer}, or a list of them, above 192 bytes is in use
   *     until the end
   * @return posts at the first request; completes when the caller may use the payload again; cancel
   *     removes the message if it was not yet accepted, else the message goes out silently
   */
  Mono<Void> send(int rank, Payload payload);

  /**
   * Sends one item: {@link #send(int, Payload)} of {@link Payload#of(Object, Encoder)}.
   *
   * @param rank destination
   * @param item the item; it must not change until the end
   * @param encoder a {@link io.lci.Codec}, or a lambda; writes the item on the home loop, at each
   *     attempt
   * @param <T> type of item
   * @return as {@link #send(int, Payload)}; fails with an exception of the encoder
   */
  default <T> Mono<Void> send(int rank, T item, Encoder<? super T> encoder) {
    return send(rank, Payload.of(item, encoder));
  }

  /**
   * Sends every element to one rank.
   *
   * @param rank destination
   * @param items upstream, asked for what the window can hold; subscribed on the subscriber's
   *     thread, where it is also asked for the first window if something is wanted by then. Later
   *     requests come on the home loop, so a source that blocks when it is asked needs {@code
   *     subscribeOn(Schedulers.boundedElastic())}. An exception of its {@code subscribe}, or a
   *     signal that is null, is an error of upstream
   * @param encoder a {@link io.lci.Codec}, or a lambda; writes an element, see its rules
   * @param <T> type of element
   * @return any demand starts it; upstream is asked for the free places of the window, whatever the
   *     demand. Completes when the last element was accepted. Fails with the error of the first
   *     failed element, after cancelling upstream; accepted elements run out. Upstream's error
   *     comes after the elements that were accepted before it. Cancel gives waiting elements to
   *     {@code doOnDiscard}; posted ones run out
   */
  <T> Mono<Void> sendAll(int rank, Publisher<T> items, Encoder<? super T> encoder);

  /**
   * Sends each element to the rank that {@code rank} returns, and reports each. One slow
   * destination delays the others only when the window is full of its elements.
   *
   * @param items as in {@link #sendAll}
   * @param rank called once per element on the home loop; a rank outside the job, or an exception,
   *     fails the element
   * @param encoder a {@link io.lci.Codec}, or a lambda; writes an element
   * @param <T> type of element
   * @return one result per element, in the order in which they end, as far as requested. An element
   *     that fits a packet ends when it is accepted, another one when its memory is free again.
   *     Unreported results occupy the window, so upstream stops too. Failure is data ({@link
   *     PostResult#error()}) unless {@link SenderOptions#stopOnError()}: then the first failure
   *     comes after the results of the elements accepted before it. Upstream's error comes after
   *     the results of the elements that it sent. Cancel as in {@link #sendAll}
   */
  <T> Flux<PostResult<T>> route(
      Publisher<T> items, ToIntFunction<? super T> rank, Encoder<? super T> encoder);
}
