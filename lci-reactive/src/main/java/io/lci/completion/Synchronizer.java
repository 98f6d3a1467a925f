/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.completion;

import java.util.List;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Fires when its threshold of signals has come, then starts anew. Any operation of the runtime may
 * signal it; firings come on loop 0. Firings without a waiter stay for the next waiter, however
 * many there are; a second waiter is an error; cancel consumes nothing. A synchronizer stores no
 * messages: the bytes of a receive or get go into a buffer of the program, or to a {@link
 * CompletionQueue}.
 *
 * @since 0.1
 */
public interface Synchronizer extends CompletionTarget, Disposable {
  /** {@return how many signals make a firing} */
  int threshold();

  /**
   * Waits for one firing.
   *
   * @return emits the firing's completions in order of arrival; fails with {@link
   *     IllegalStateException} if another waiter is there, with {@link
   *     io.lci.error.LciClosedException} when it is disposed or the runtime closes
   */
  Mono<List<Completion>> next();

  /**
   * Takes every firing, as far as requested.
   *
   * @return does not complete by itself; fails as {@link #next()}
   */
  Flux<List<Completion>> firings();

  /** Frees the synchronizer; operations still bound to it end silently. */
  @Override
  void dispose();
}
