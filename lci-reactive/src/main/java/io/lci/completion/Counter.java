/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.completion;

import reactor.core.Disposable;
import reactor.core.publisher.Mono;

/**
 * Counts signals; carries no payload and needs no credit. Never resets by itself. Any thread may
 * read and set it.
 *
 * @since 0.1
 */
public interface Counter extends CompletionTarget, Disposable {
  /** {@return the count} */
  long get();

  /**
   * Sets the count.
   *
   * @param value new count
   */
  void set(long value);

  /**
   * Waits until the count is at least {@code value}.
   *
   * @param value the count to wait for
   * @return emits the count at that moment, on loop 0; any number of waiters; counting does not
   *     depend on demand; cancel detaches the waiter and leaves the count; fails with {@link
   *     io.lci.error.LciClosedException} when it is disposed or the runtime closes
   */
  Mono<Long> reaches(long value);

  /** Frees the counter once no operation or port is bound to it. */
  @Override
  void dispose();
}
