/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.lane;

import io.lci.am.Message;
import org.jspecify.annotations.Nullable;

/** What the end of an operation is signalled to: a completion object of the core. */
public interface SignalTarget extends PlaceTarget {
  /** Its identifier in descriptors and records. */
  int id();

  /** Its handle. */
  long handle();

  /** Whether it went, or is about to go: its handle is used inside the core's gate only. */
  boolean isDisposed();

  /**
   * Whether it may have no room for a signal: an operation that its loop tells it of has a place in
   * it while it is pending.
   */
  default boolean mayBeFull() {
    return false;
  }

  /**
   * Keeps what an operation brought until its status is taken.
   *
   * @return what to put beside the user context of the status; 0 if nothing is kept
   */
  default int keep(@Nullable Message message) {
    return 0;
  }

  /** The status of what was kept did not get in. */
  default void refused(int kept) {}

  @Override
  default int reserve(Relay relay, int device) {
    return relay.reserve(this, device);
  }

  @Override
  default void giveBack(Relay relay) {
    relay.giveBack(this);
  }
}
