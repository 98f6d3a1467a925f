/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import io.lci.am.Inbox;
import io.lci.error.LciClosedException;

/** The loop on which everything of this package happens. "Loop only" means its thread. */
public interface Home {
  /** Whether the calling thread is the loop's. */
  boolean inLoop();

  /**
   * Runs a task on the loop, after those that came before, never inside a signal.
   *
   * @param task what to run
   * @param rejected called instead if the loop has ended, maybe on the calling thread
   */
  void execute(Runnable task, Runnable rejected);

  /**
   * The runtime is closed.
   *
   * @param operation what is not done
   * @return the error, whose cause is what ended the runtime if nobody closed it
   */
  LciClosedException closed(String operation);

  /**
   * Refuses what is new while the runtime closes.
   *
   * @param operation what is not done
   * @throws LciClosedException if it closes
   */
  void refuseClosed(String operation);

  /** User code threw where nobody can be told; the caller has logged it. Any thread. */
  void countUncaught();

  /**
   * Messages of peers that are gone, announced without credit: they come when there is room. Where
   * this is 0, {@link Inbox#depth()} counts all that is still to come from such peers. Loop only.
   *
   * @param inbox whose home this is
   */
  int leftBehind(Inbox inbox);
}
