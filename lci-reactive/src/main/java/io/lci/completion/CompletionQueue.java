/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.completion;

import reactor.core.Disposable;
import reactor.core.publisher.Flux;

/**
 * Keeps completions until a subscriber requests them. Any operation of the runtime may signal it
 * ({@link io.lci.Op#completeTo}), and any port ({@link Completions#bind}): its messages then arrive
 * here inside completions. Made by {@link Completions#queue}.
 *
 * @since 0.1
 */
public interface CompletionQueue extends CompletionTarget, Disposable {
  /**
   * Takes completions in the order in which they came.
   *
   * @return signals on the queue's home loop. Without demand completions stay, and a bound port
   *     gives its senders no more credit. Cancel is pause: completions stay for the next
   *     subscriber. Never completes by itself; fails with {@link io.lci.error.LciClosedException}
   *     when it is disposed or the runtime closes. A second live subscriber gets {@link
   *     IllegalStateException}
   */
  Flux<Completion> completions();

  /** {@return how many completions are there and not yet delivered} A recent value; any thread. */
  long length();

  /** Frees the queue and its completions, once no operation or port is bound to it. */
  @Override
  void dispose();
}
