/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.stream;

import io.lci.Codec;
import org.reactivestreams.Publisher;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;

/**
 * Streams between ranks: one rank publishes a {@code Flux} by a name, others subscribe to it.
 * Thread-safe; one per runtime.
 *
 * <p><b>Demand travels.</b> The published Flux gets the demand of the remote subscriber, up to a
 * window of {@value StreamLimits#WINDOW} items, and no more. Items come in order. Streams of a pair
 * of ranks take turns, one frame each; a stream without demand delays no other.
 *
 * <p><b>Both ranks must call it.</b> The first call of {@code LciRuntime.streams()} or {@code
 * rpc()} opens the port over which this rank is reached. Until the other rank has called one of
 * them, subscriptions wait, as a message waits for a port that is not open.
 *
 * @since 0.1
 */
public interface Streams {
  /** Most bytes of a name, in UTF-8. */
  int MAX_NAME = 255;

  /**
   * Publishes a stream. Each remote subscription subscribes to {@code source} once, on loop 0, and
   * requests as much as the subscriber requested, beginning in its {@code onSubscribe}; a cancel at
   * the subscriber cancels that subscription. The source may signal on any thread; if it blocks on
   * a request it needs {@code subscribeOn(Schedulers.boundedElastic())}. Its error travels as code
   * and message ({@link io.lci.error.RemoteException}).
   *
   * @param name not empty, at most {@value #MAX_NAME} bytes
   * @param source subscribed once per remote subscriber
   * @param codec encodes on loop 0, when an item's turn comes: items must not change after they
   *     were emitted. An exception ends the stream as an error of the source
   * @param <T> type of item
   * @return takes the name back when disposed: new subscribers get {@link
   *     io.lci.error.NoSuchStreamException}, existing ones go on
   * @throws IllegalStateException if this rank publishes that name already
   * @throws io.lci.error.LciClosedException when the runtime closes, or was closed
   */
  <T> Disposable publish(String name, Publisher<? extends T> source, Codec<T> codec);

  /**
   * As {@link #subscribe(int, String, Codec, SubscribeOptions)} with default options: an unknown
   * name is an error at once.
   *
   * @param rank the publishing rank
   * @param name its name
   * @param codec decodes
   * @param <T> type of item
   * @return the stream
   */
  default <T> Flux<T> subscribe(int rank, String name, Codec<T> codec) {
    return subscribe(rank, name, codec, SubscribeOptions.defaults());
  }

  /**
   * Describes a subscription to a stream of another rank, or of this one. Cold: each subscription
   * subscribes to the published Flux anew.
   *
   * @param rank the publishing rank
   * @param name its name
   * @param codec decodes on loop 0; an exception cancels the stream and ends the subscription
   * @param options how long to wait for the name
   * @param <T> type of item
   * @return asks at the first request; signals on loop 0; cancel reaches the published Flux;
   *     completes and fails with the published Flux ({@link io.lci.error.RemoteException}), or with
   *     {@link io.lci.error.NoSuchStreamException}, {@link io.lci.error.PeerFailedException},
   *     {@link io.lci.error.PeerLeftException}, {@link io.lci.error.ResourceExhaustedException} at
   *     one of the {@link StreamLimits}, {@link io.lci.error.ProtocolException}, {@link
   *     io.lci.error.LciClosedException}. Items that were sent before the end are delivered before
   *     it
   */
  <T> Flux<T> subscribe(int rank, String name, Codec<T> codec, SubscribeOptions options);
}
