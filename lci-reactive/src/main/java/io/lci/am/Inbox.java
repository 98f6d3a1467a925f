/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.am;

import io.lci.Codec;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * An open port of this rank: a resource with a bounded store, which peers fill as far as they hold
 * credit. It has one subscription at a time, with all signals on the home loop. Demand becomes
 * credit: without demand, peers' posts answer retry and their upstreams stop. Cancel is pause:
 * messages stay for the next subscriber. Messages have no order.
 *
 * @since 0.1
 */
public interface Inbox extends Disposable {
  /** {@return the port} */
  Port port();

  /**
   * Takes messages and decodes them where they lie; recommended.
   *
   * @param decoder called on the home loop; the view is invalid when it returns; must not return
   *     null or the view itself ({@link IllegalStateException}), and must not block. An exception
   *     ends the subscription with that error; the message counts as consumed and the inbox stays
   *     usable
   * @param <T> decoded type
   * @return never completes by itself: completes at {@link #dispose()}, fails with {@link
   *     io.lci.error.LciClosedException} when the runtime closes, because messages may be lost. A
   *     subscriber that expects this disposes the inbox or its subscription before, bounds the
   *     Flux, or uses {@code onErrorComplete(LciClosedException.class)}; without an error consumer
   *     Reactor logs it. A second live subscriber gets {@link IllegalStateException} naming the
   *     first
   */
  <T> Flux<T> receive(Function<? super MessageView, ? extends T> decoder);

  /**
   * Takes messages and decodes them where they lie, by a codec.
   *
   * @param codec decodes, as in {@link #receive(Function)}; the view that it gets is invalid when
   *     it returns
   * @param <T> decoded type
   * @return as {@link #receive(Function)}
   */
  default <T> Flux<T> receive(Codec<T> codec) {
    Objects.requireNonNull(codec, "codec");
    return receive((Function<MessageView, T>) codec::decode);
  }

  /**
   * Takes messages as garbage-collected copies; safe with every operator.
   *
   * @return as {@link #receive(Function)}
   */
  Flux<Message> receive();

  /**
   * Takes messages as copies, in batches of those that came together. It serves consumers for which
   * a signal costs more than a message, such as one on another thread. A batch goes out when it is
   * full, or when this turn of the loop finds no more; no message waits for others.
   *
   * @param max most messages of a batch, 1 or more
   * @return unmodifiable lists, never empty; demand counts batches, so at most {@code n * max}
   *     messages come; else as {@link #receive(Function)}
   */
  Flux<List<Message>> receiveBatches(int max);

  /**
   * Takes messages and decodes them where they lie, in batches as {@link #receiveBatches(int)}.
   *
   * @param max most elements of a batch, 1 or more
   * @param decoder as in {@link #receive(Function)}; elements decoded before an exception are
   *     delivered first. If the subscription is cancelled, decoded elements that were not delivered
   *     go to {@code doOnDiscard}
   * @param <T> decoded type
   * @return as {@link #receiveBatches(int)}
   */
  <T> Flux<List<T>> receiveBatches(int max, Function<? super MessageView, ? extends T> decoder);

  /**
   * Takes messages and decodes them where they lie, by a codec, in batches.
   *
   * @param max most elements of a batch, 1 or more
   * @param codec decodes, as in {@link #receiveBatches(int, Function)}
   * @param <T> decoded type
   * @return as {@link #receiveBatches(int)}
   */
  default <T> Flux<List<T>> receiveBatches(int max, Codec<T> codec) {
    Objects.requireNonNull(codec, "codec");
    return receiveBatches(max, (Function<MessageView, T>) codec::decode);
  }

  /**
   * Takes messages as retained native memory, without a copy where that is possible (see {@link
   * RetainedMessage}). It serves payloads that outlive the callback or go to other threads. The
   * program must release each message.
   *
   * @return as {@link #receive(Function)}. Emission pauses while {@link InboxOptions#maxRetained()}
   *     messages are not released, whatever the demand, so that a prefetch cannot take everything.
   *     {@link io.lci.error.ResourceExhaustedException} if no memory is left for a copy; that
   *     message stays. Behind operators that queue, add {@code doOnDiscard(RetainedMessage.class,
   *     RetainedMessage::release)}
   */
  Flux<RetainedMessage> receiveRetained();

  /**
   * Takes messages where they lie, with unbounded demand and without garbage.
   *
   * @param handler called on the home loop; an exception is logged, the message counts as consumed,
   *     and the next one follows. The first failures of a handler are logged with their stack
   *     traces; later ones are counted in a line now and then
   * @return pauses the inbox when disposed
   * @throws IllegalStateException if the inbox has a live subscriber
   * @throws io.lci.error.LciException if the inbox was disposed, or its port could not be opened
   */
  Disposable handle(MessageHandler handler);

  /**
   * Returns the parts of a port that was opened with {@link InboxOptions.Builder#partitions}, in
   * order, each an inbox of its own on its own loop. Subscribe to each of them: a part without a
   * subscriber fills the port. The whole inbox refuses subscribers ({@link IllegalStateException});
   * its depth is the sum. A part has the options and the capacity of the whole; disposing a part
   * closes the port.
   *
   * @return this inbox alone if the port has no parts. Unmodifiable
   */
  List<Inbox> partitions();

  /**
   * {@return how many messages are stored here and not yet delivered} A recent value; any thread.
   */
  int depth();

  /** {@return the most messages that may be stored} */
  int capacity();

  /**
   * Tells when the port is closed.
   *
   * @return completes on the home loop when it is, or at once on the subscriber's thread if it was
   *     closed before; fails with {@link io.lci.error.LciException} if it could not be opened.
   *     Needs no demand; cancel detaches
   */
  Mono<Void> onClose();

  /**
   * Closes the port: stored messages are discarded and counted, senders get {@link
   * io.lci.error.PortClosedException}, the subscriber completes. Any thread, returns at once,
   * idempotent. The port may then be opened anew. A late message comes to the port that is opened
   * anew if its sender had announced it without credit before it learned of the end; other messages
   * for the earlier one are discarded.
   */
  @Override
  void dispose();
}
