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
   * @param payload what to send; read at each attempt, and not after it was accepted, but an {@link
   *     io.lci.rma.LciBuffer}, or a list of them, above 192 bytes is referred to until the end
   * @return posts at first request; completes when the payload is out of the caller's hands; cancel
   *     removes it if it was not yet accepted, else it goes out silently
   */
  Mono<Void> send(int rank, Payload payload);

  /**
   * Sends every element to one rank.
   *
   * @param rank destination
   * @param items upstream, asked for what the window can hold; subscribed on the subscriber's
   *     thread, where it is also asked for the first window if something is wanted by then. Later
   *     requests come on the home loop, so a source that blocks when it is asked needs {@code
   *     subscribeOn(Schedulers.boundedElastic())}. What its {@code subscribe} throws, or a signal
   *     that is null, is an error of upstream
   * @param encoder writes an element; see its rules
   * @param <T> type of element
   * @return any demand starts it; upstream is asked for what the window has free, whatever the
   *     demand. Completes when the last element was accepted; fails with the first failed element's
   *     error, after cancelling upstream and with the accepted elements running out. Upstream's
   *     error comes after what was accepted before it. Cancel gives parked elements to {@code
   *     doOnDiscard}, posted ones run out
   */
  <T> Mono<Void> sendAll(int rank, Publisher<T> items, Encoder<? super T> encoder);

  /**
   * Sends each element where {@code rank} says, and reports each. One slow destination delays the
   * others only when the window is full of its elements.
   *
   * @param items as in {@link #sendAll}
   * @param rank called once per element on the home loop; a rank outside the job, or an exception,
   *     fails the element
   * @param encoder writes an element
   * @param <T> type of element
   * @return one result per element, in the order in which they end, as far as requested: one that
   *     fits a packet when it is accepted, another when its memory is free again. Unreported
   *     results occupy the window, so upstream stops too. Failure is data ({@link
   *     PostResult#error()}) unless {@link SenderOptions#stopOnError()}: then the first one comes
   *     after the results of what was accepted before it. Upstream's error comes after the results
   *     of what it sent. Cancel as of {@link #sendAll}
   */
  <T> Flux<PostResult<T>> route(
      Publisher<T> items, ToIntFunction<? super T> rank, Encoder<? super T> encoder);
}
