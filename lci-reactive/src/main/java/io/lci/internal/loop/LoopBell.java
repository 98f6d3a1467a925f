/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

/** What a loop sleeps by, and what wakes it: its lane. [V9, V11] */
public interface LoopBell {
  /** Whether an enter would find something although nothing is submitted. */
  boolean rings(long nowNanos);

  /** Announces that the loop is about to sleep; look at every queue again after this. */
  void announcePark();

  void withdrawPark();

  /** Any thread. */
  boolean isParkAnnounced();

  int park(long timeoutNanos);

  /** Any thread, while the lane lives. */
  void wake();
}
