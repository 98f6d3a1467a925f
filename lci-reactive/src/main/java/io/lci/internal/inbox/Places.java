/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.inbox;

import io.lci.internal.lane.Relay;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Places of an inbox for the ends of operations: one for each that is pending, and for each message
 * of one that nobody has taken yet. Any thread.
 */
final class Places {
  private final AtomicInteger free;

  /** Loops to which a place was refused since they were woken. */
  private final Set<Relay> refused = ConcurrentHashMap.newKeySet();

  Places(int count) {
    free = new AtomicInteger(count);
  }

  /** Takes a place; where there is none, the loop is woken when there is one. */
  boolean take(Relay loop) {
    if (take()) {
      return true;
    }
    refused.add(loop);
    return take(); // one may have come before the loop was noted
  }

  private boolean take() {
    int left = free.get();
    while (left > 0 && !free.compareAndSet(left, left - 1)) {
      left = free.get();
    }
    return left > 0;
  }

  void giveBack() {
    free.incrementAndGet();
    wake();
  }

  /** There is a place, or none is needed any more. */
  void wake() {
    for (Relay loop : refused) {
      if (refused.remove(loop)) {
        loop.placeFreed();
      }
    }
  }
}
