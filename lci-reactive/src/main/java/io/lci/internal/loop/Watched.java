/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

/**
 * Waits for something that a turn of its loop may bring and of which nobody tells: the loop looks
 * once in each turn, after it crossed, and not beyond its end. Loop only.
 */
public interface Watched {
  /**
   * Whether it has what it waited for: nobody looks again. Calls no user code, and adds nothing to
   * be watched.
   */
  boolean isOver();
}
