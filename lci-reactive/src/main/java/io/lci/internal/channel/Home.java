/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.channel;

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
}
