/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.inbox;

import io.lci.am.MessageView;
import org.jspecify.annotations.Nullable;

/**
 * What the ways to consume an inbox differ in: what a subscriber gets of a message. Loop only.
 *
 * @param <T> what the subscriber gets
 */
abstract class Intake<T> {
  /**
   * Takes one message; there is demand.
   *
   * @return what to hand on now; null for nothing, or if the tap has failed
   */
  abstract @Nullable T take(InboxTap<T> tap, MessageView view);

  /** Whether each message is an element, so that operators may fetch elements. */
  boolean isFusable() {
    return false;
  }

  /** How many messages can be taken now. */
  long allowance(InboxTap<T> tap) {
    return tap.demand;
  }

  /** Whether messages are to stay where they lie until they are released. */
  boolean keepsMessages() {
    return false;
  }

  /** What was collected and not handed on; null if nothing was. */
  @Nullable T rest() {
    return null;
  }

  /** The tap was cancelled: gives back what was collected. */
  void cancelled(InboxTap<T> tap) {}

  /** What users know the subscriber by; null for the subscriber's own name. */
  @Nullable String name() {
    return null;
  }
}
