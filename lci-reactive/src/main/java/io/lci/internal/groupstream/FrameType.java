/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.groupstream;

/** Types of frame. The ordinal travels. */
enum FrameType {
  /** The member has begun: what it subscribed to, and the window that it grants. */
  OPEN,
  /** Items, one after the other, from a number on. */
  ITEMS,
  /** The source has completed, after so many items for this member. */
  END,
  /** So many items and bytes were delivered, from the beginning on. */
  CREDIT,
  /**
   * The member that sends this wants no more: it has left a broadcast, or knows that members do not
   * fit each other.
   */
  DETACH,
  /** The stream has ended on every member. */
  ABORT;

  private static final FrameType[] ALL = values();

  static FrameType of(int ordinal) {
    return ALL[ordinal];
  }
}
