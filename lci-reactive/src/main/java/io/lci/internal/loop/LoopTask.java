/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

/** Work handed to a loop from any thread. */
@FunctionalInterface
public interface LoopTask extends Runnable {
  /**
   * Called instead of {@link #run()} when the loop has ended; on the offering thread or the loop's
   * last breath.
   */
  default void rejected() {}
}
