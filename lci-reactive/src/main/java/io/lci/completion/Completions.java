/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.completion;

import io.lci.am.Port;
import reactor.core.Disposable;

/**
 * Makes the objects that operations and ports signal instead of a subscriber, and graphs of
 * operations. Made by {@link io.lci.LciRuntime#completions()}. Any thread.
 *
 * @since 0.1
 */
public interface Completions {
  /**
   * Creates a queue of completions.
   *
   * @param options its kind, capacity and home loop
   * @return the queue
   * @throws io.lci.error.LciException if this machine has no such kind
   */
  CompletionQueue queue(QueueOptions options);

  /**
   * Creates a synchronizer on loop 0.
   *
   * @param threshold signals per firing, at least 1
   * @return the synchronizer
   */
  Synchronizer synchronizer(int threshold);

  /**
   * Creates a counter.
   *
   * @return the counter, at 0
   */
  Counter counter();

  /**
   * Begins a graph of operations and functions on loop 0.
   *
   * @return a builder that collects the nodes
   */
  CompletionGraph.Builder graph();

  /**
   * Opens a port whose messages signal {@code target} instead of an inbox: a queue, which stores
   * them, a counter or a synchronizer. Messages that signal a counter or a synchronizer end there,
   * and hold no sender back. Firings of a synchronizer that no subscriber takes stay in the heap,
   * so bind one only where something else bounds its senders.
   *
   * @param port number and name
   * @param target queue, counter or synchronizer of this runtime; only a queue gives the messages,
   *     and it takes at most 1,024 of them and 8 MiB at a time, whatever its own size
   * @return closes the port when disposed
   * @throws io.lci.error.LciClosedException if {@code target} was disposed
   */
  Disposable bind(Port port, CompletionTarget target);
}
