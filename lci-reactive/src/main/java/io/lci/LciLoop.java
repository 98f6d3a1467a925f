/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import java.time.Duration;
import java.util.List;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/**
 * One event loop: a thread, its lane into the core, and the devices that it serves. All signals of
 * the operations, inboxes and senders whose home it is come on its thread, serially.
 *
 * <p>A <em>dedicated</em> loop runs the platform thread {@code lci-loop-<index>}, on which blocking
 * calls of Reactor are refused. An <em>invoker</em> loop ({@link
 * LciOptions.Builder#invoker(boolean)}) has no thread: the first thread that calls {@link #poll()}
 * or {@link #await(Mono, Duration)} becomes its owner and drives it from then on.
 *
 * <p>A loop lives and ends with its runtime, because nothing would serve a device without its loop:
 * a loop cannot be closed alone.
 *
 * @since 0.1
 */
public interface LciLoop {
  /** {@return the index of the loop} */
  int index();

  /**
   * {@return the devices that this loop serves: at least one, more if the runtime has more devices
   * than loops ({@link LciOptions.Builder#devices})} Unmodifiable.
   */
  List<Integer> devices();

  /** {@return whether the calling thread is this loop's thread} */
  boolean inLoop();

  /**
   * {@return a view of this loop as a Reactor scheduler: tasks run on the loop's thread between
   * turns, delayed tasks on its own timer} Disposing the scheduler or its workers cancels what they
   * still hold and does not stop the loop.
   */
  Scheduler scheduler();

  /**
   * {@return the poster of this loop: posting without a publisher}
   *
   * @throws IllegalStateException never here, but the poster's methods throw it on any other thread
   */
  Poster poster();

  /**
   * Runs one turn of an invoker loop: tasks, timers, posts, arrivals, completions. Never sleeps.
   *
   * @return how much was done; 0 when there was nothing to do
   * @throws IllegalStateException on a dedicated loop, on a second thread, or from inside a signal
   *     of this loop
   */
  int poll();

  /**
   * Runs turns of an invoker loop until one finds something to do or the time is over. Between
   * empty turns it follows the runtime's {@link IdleStrategy}. By default it therefore sleeps, and
   * wakes for every event that wakes a dedicated loop, including a task that another thread gives
   * to {@link #scheduler()}. So a thread with a loop of its own can wait for messages and tasks
   * together.
   *
   * @param limit longest wait; zero or less is {@link #poll()}
   * @return how much was done; 0 when the time passed, or the loop has ended
   * @throws IllegalStateException as {@link #poll()}
   */
  int poll(Duration limit);

  /**
   * Drives an invoker loop until {@code mono} ends, sleeping when there is nothing to do. The
   * counterpart of {@code block}, which fails fast on a loop's thread.
   *
   * @param mono subscribed once
   * @param limit longest wait
   * @param <T> type of the value
   * @return the value, or null if {@code mono} completed empty
   * @throws IllegalStateException as {@link #poll()}, or when {@code limit} passed; {@code mono} is
   *     then cancelled
   * @throws io.lci.error.LciClosedException when the loop ended before {@code mono} did, which is
   *     then cancelled
   */
  <T> @org.jspecify.annotations.Nullable T await(Mono<T> mono, Duration limit);
}
