/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

/** Work handed to a loop from any thread. */
@FunctionalInterface
interface LoopTask extends Runnable {
  /**
   * Called instead of {@link #run()} when the loop has ended; on the offering thread or the loop's
   * last breath.
   */
  default void rejected() {}
}
