/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import java.util.ArrayDeque;

/**
 * Memory for items that come in several frames: granted whole, in the order of asking, so that what
 * has begun can always be finished. One that is larger than all of it goes alone. Loop only.
 */
final class Room {
  private final long capacity;
  private final ArrayDeque<Assembly> waiting = new ArrayDeque<>();
  private long used;
  private boolean closed;

  Room(long capacity) {
    this.capacity = capacity;
  }

  /** Grants now or later: {@link Assembly#granted()} is called. */
  void ask(Assembly who) {
    waiting.add(who);
    serve();
  }

  /** Gives back what was granted. */
  void release(long bytes) {
    used -= bytes;
    serve();
  }

  void withdraw(Assembly who) {
    if (waiting.remove(who)) {
      serve(); // those behind it may fit
    }
  }

  /** Grants nothing any more: whoever waits is about to be failed. */
  void close() {
    closed = true;
  }

  long used() {
    return used;
  }

  private void serve() {
    for (Assembly first = waiting.peek();
        !closed && first != null && (used == 0 || first.asked() <= capacity - used);
        first = waiting.peek()) {
      waiting.poll();
      used += first.asked();
      first.granted();
    }
  }
}
