/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import io.lci.Codec;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;

/**
 * Streams of all members of a group, with demand from end to end. {@link Collectives#streams()} has
 * them. Any thread.
 *
 * <p><b>Order.</b> Each subscription is one stream. It takes its number, and subscribes to the
 * source, at its first request. All members subscribe to the same streams of a group, or of a
 * context, in the same order. Streams are numbered apart from calls. Items of one source come to
 * one member in their order; those of different sources in any.
 *
 * <p><b>Demand.</b> A receiver delivers what its subscriber requests. It grants each source a
 * window ({@link StreamOptions#windowItems()}, {@link StreamOptions#windowBytes()}), which it
 * renews as items are delivered: so memory is bounded by members times window. A source is asked
 * for {@value #SEND_WINDOW} items at first, and for more as they leave. An item for a member
 * without room waits here, and the others pass it. When nothing else is left the source rests: in
 * the end the slowest member sets the pace. Receiving never waits for sending. Items of a member to
 * itself pass without the codec.
 *
 * <p><b>End.</b> A stream completes on a member when every source that sends to it has completed
 * and all items were delivered, and when all that it had to send itself has left.
 *
 * <p><b>Errors.</b> The first failure ends the stream on every member that has not completed it,
 * and cancels all sources; items that were not delivered go to {@code doOnDiscard}, but for those
 * under way, which are bytes by then. An error of the source, or an exception of {@code owner} or
 * of the codec, is told as it is on its own member. The others get {@link
 * io.lci.error.CollectiveFailedException} with its rank and text. All get {@link
 * io.lci.error.PeerFailedException} if a member dies, {@link io.lci.error.PeerLeftException} if one
 * leaves that has not completed, {@link io.lci.error.CollectiveMismatchException} if one subscribes
 * to something else, and {@link io.lci.error.ResourceExhaustedException} on a member whose item has
 * more than half the bytes of the receiver's window. The runtime's close ends it with {@link
 * io.lci.error.LciClosedException}; so do streams that begin when their group or context was
 * disposed.
 *
 * <p><b>Cancel.</b> A cancel of a shuffle or a gather ends it on the others with {@link
 * io.lci.error.OperationCancelledException}, whose rank is that of the member that cancelled, or
 * lets it go on without this subscriber ({@link StreamOptions#onCancel()}).
 *
 * <p><b>Threads.</b> Signals come on the loop that serves the device of the context, loop 0 for
 * those of a group. Codec and {@code owner} are called there, and sources are subscribed and asked
 * there; they may signal on any thread.
 *
 * @since 0.1
 */
public interface GroupStreams {
  /** Items of a source that may wait to be sent. */
  int SEND_WINDOW = 256;

  /**
   * Brings each item to the member that owns it.
   *
   * @param source the items of this member
   * @param owner the member that gets an item, called once for each
   * @param codec for items that travel
   * @param options of this member
   * @param <T> type of item
   * @return as above; the items of all members that this one owns
   */
  <T> Flux<T> shuffle(
      Publisher<? extends T> source,
      ToIntFunction<? super T> owner,
      Codec<T> codec,
      StreamOptions options);

  /**
   * As {@link #shuffle(Publisher, ToIntFunction, Codec, StreamOptions)}, with default options.
   *
   * @param source the items of this member
   * @param owner the member that gets an item
   * @param codec for items that travel
   * @param <T> type of item
   * @return as above
   */
  default <T> Flux<T> shuffle(
      Publisher<? extends T> source, ToIntFunction<? super T> owner, Codec<T> codec) {
    return shuffle(source, owner, codec, StreamOptions.defaults());
  }

  /**
   * Brings the items of all members to the root.
   *
   * @param root the member that gets them
   * @param source the items of this member
   * @param codec for items that travel
   * @param options of this member
   * @param <T> type of item
   * @return as above; at the root the items, with their members. Elsewhere nothing: any demand
   *     starts it, and it completes when all items have left
   */
  <T> Flux<Sourced<T>> gather(
      int root, Publisher<? extends T> source, Codec<T> codec, StreamOptions options);

  /**
   * As {@link #gather(int, Publisher, Codec, StreamOptions)}, with default options.
   *
   * @param root the member that gets them
   * @param source the items of this member
   * @param codec for items that travel
   * @param <T> type of item
   * @return as above
   */
  default <T> Flux<Sourced<T>> gather(int root, Publisher<? extends T> source, Codec<T> codec) {
    return gather(root, source, codec, StreamOptions.defaults());
  }

  /**
   * Brings the items of the root to all members. The root's source is asked for as many as the
   * slowest member has taken, and its window. A member that cancels is not counted any more, and
   * the stream goes on for the others, whatever {@link StreamOptions#onCancel()} says; when all
   * have cancelled, the source is cancelled.
   *
   * @param root the member that has them
   * @param source the items, at the root. Ignored elsewhere
   * @param codec for items that travel
   * @param options of this member
   * @param <T> type of item
   * @return as above; the items, in order
   */
  <T> Flux<T> broadcast(
      int root, @Nullable Publisher<? extends T> source, Codec<T> codec, StreamOptions options);

  /**
   * As {@link #broadcast(int, Publisher, Codec, StreamOptions)}, with default options.
   *
   * @param root the member that has them
   * @param source the items, at the root. Ignored elsewhere
   * @param codec for items that travel
   * @param <T> type of item
   * @return as above
   */
  default <T> Flux<T> broadcast(int root, @Nullable Publisher<? extends T> source, Codec<T> codec) {
    return broadcast(root, source, codec, StreamOptions.defaults());
  }

  /**
   * Combines the elements of all members, chunk by chunk: the first chunks of all members, then the
   * second ones, and so on. The source is asked for as many as the slowest member has taken, and
   * its window; up to a window of results may wait here. A cancel detaches the subscriber, and this
   * member still takes part: {@link StreamOptions#onCancel()} does not count.
   *
   * <p>Members bring equally many chunks, and those with the same number have the same type and
   * length. If not, each gets the results before, and then {@link
   * io.lci.error.CollectiveMismatchException}.
   *
   * @param chunks those of this member; see {@link Vec} for how long memory is in use. An error of
   *     the program if {@code op} does not serve the type
   * @param op how they are combined
   * @param options of this member
   * @return as above; the results, each in memory of its own
   */
  Flux<Vec> allReduce(Publisher<Vec> chunks, ReduceOp op, StreamOptions options);

  /**
   * As {@link #allReduce(Publisher, ReduceOp, StreamOptions)}, with default options.
   *
   * @param chunks those of this member
   * @param op how they are combined
   * @return as above
   */
  default Flux<Vec> allReduce(Publisher<Vec> chunks, ReduceOp op) {
    return allReduce(chunks, op, StreamOptions.defaults());
  }
}
