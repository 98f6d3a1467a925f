/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.am;

import java.util.List;
import java.util.function.Function;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * An open port of this rank: a resource with a bounded store, filled by peers as far as they hold
 * credit. A subscription is its tap: one at a time, everything on the home loop. Demand is credit:
 * without it peers' posts answer retry and their upstreams stop. Cancel is pause: messages stay for
 * the next subscriber. Messages have no order.
 *
 * @since 0.1
 */
public interface Inbox extends Disposable {
  /** {@return the port} */
  Port port();

  /**
   * Takes messages decoded in place; recommended.
   *
   * @param decoder called on the home loop; the view dies when it returns; must not return null or
   *     the view itself ({@link IllegalStateException}), and must not block. An exception ends the
   *     subscription with that error; the message counts as consumed and the inbox stays usable
   * @param <T> decoded type
   * @return never completes by itself: completes at {@link #dispose()}, fails with {@link
   *     io.lci.error.LciClosedException} when the runtime closes: messages may have been lost to
   *     it. A subscriber that expects this disposes the inbox or its subscription before, bounds
   *     the Flux, or says {@code onErrorComplete(LciClosedException.class)}; without an error
   *     consumer Reactor logs it. A second live subscriber gets {@link IllegalStateException}
   *     naming the first
   */
  <T> Flux<T> receive(Function<? super MessageView, ? extends T> decoder);

  /**
   * Takes messages as garbage-collected copies; safe with every operator.
   *
   * @return as {@link #receive(Function)}
   */
  Flux<Message> receive();

  /**
   * Takes messages as copies, those together that came together: for consumers to whom a signal
   * costs more than a message, such as one on another thread. A batch goes out when it is full or
   * when nothing more is there in this turn of the loop; no message waits for others.
   *
   * @param max most messages of a batch, 1 or more
   * @return unmodifiable lists, never empty; each request is of batches, so at most {@code n * max}
   *     messages come; else as {@link #receive(Function)}
   */
  Flux<List<Message>> receiveBatches(int max);

  /**
   * Takes messages decoded in place, as {@link #receiveBatches(int)} those together that came
   * together.
   *
   * @param max most elements of a batch, 1 or more
   * @param decoder as in {@link #receive(Function)}; what came before an exception is handed on
   *     first. Elements that were decoded and not yet handed on when the subscription is cancelled
   *     go to {@code doOnDiscard}
   * @param <T> decoded type
   * @return as {@link #receiveBatches(int)}
   */
  <T> Flux<List<T>> receiveBatches(int max, Function<? super MessageView, ? extends T> decoder);

  /**
   * Takes messages as leases of native memory, without a copy where they allow it (see {@link
   * RetainedMessage}): for payloads that outlive the callback or go to other threads. Each must be
   * released.
   *
   * @return as {@link #receive(Function)}. Emission pauses while {@link InboxOptions#maxRetained()}
   *     messages are not released, whatever the demand, so that a prefetch cannot take everything.
   *     {@link io.lci.error.ResourceExhaustedException} if no memory is left for a copy; that
   *     message stays. Behind operators that queue, add {@code doOnDiscard(RetainedMessage.class,
   *     RetainedMessage::release)}
   */
  Flux<RetainedMessage> receiveRetained();

  /**
   * Takes messages in place with unbounded demand and without garbage.
   *
   * @param handler called on the home loop; an exception is logged, the message counts as consumed,
   *     and the next one follows. The first failures of a handler are logged with their stack
   *     traces; of later ones a line now and then says how many there were
   * @return pauses the inbox when disposed
   * @throws IllegalStateException if the inbox has a live subscriber
   * @throws io.lci.error.LciException if the inbox was disposed, or its port could not be opened
   */
  Disposable handle(MessageHandler handler);

  /**
   * Returns the parts of a port that was opened with {@link InboxOptions#withPartitions}, each an
   * inbox of its own on its own loop, in order: subscribe to each of them, since a part without a
   * subscriber fills the port. The inbox in parts itself cannot be subscribed to ({@link
   * IllegalStateException}); its depth is the sum. A part has the options and the capacity of the
   * whole; disposing one closes the port.
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
   * Says when the port is closed.
   *
   * @return completes on the home loop when it is, or at once on the subscriber's thread if it was
   *     before; fails with {@link io.lci.error.LciException} if it could not be opened. Needs no
   *     demand; cancel detaches
   */
  Mono<Void> onClose();

  /**
   * Closes the port: stored messages are discarded and counted, senders get {@link
   * io.lci.error.PortClosedException}, the subscriber completes. Any thread, returns at once,
   * idempotent. The port may then be opened anew.
   */
  @Override
  void dispose();
}
