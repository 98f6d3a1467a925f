/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

/**
 * Has signals to deliver or work to do at the next safe point of its loop: never inside somebody's
 * signal.
 */
public abstract class Drainable {
  /** Whether it is in its loop's queue already. Loop only. */
  boolean queued;

  /** Delivers what there is. Called on the loop, never re-entered. */
  protected abstract void drain();
}
