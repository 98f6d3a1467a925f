/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import java.util.ArrayDeque;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/** What has signals to deliver, each at most once in it. Loop only. */
final class ReadyQueue {
  private final ArrayDeque<Drainable> queue = new ArrayDeque<>();

  void add(Drainable drainable) {
    if (!drainable.queued) {
      drainable.queued = true;
      queue.add(drainable);
    }
  }

  boolean isEmpty() {
    return queue.isEmpty();
  }

  int size() {
    return queue.size();
  }

  /** Drains at most {@code budget} of them; returns how many. */
  int drain(int budget, Consumer<Throwable> thrown) {
    return drain(budget, () -> false, thrown);
  }

  /** As above, and none after {@code enough}; the rest stays in the queue. */
  int drain(int budget, BooleanSupplier enough, Consumer<Throwable> thrown) {
    int count = 0;
    while (count < budget && !enough.getAsBoolean()) {
      Drainable drainable = queue.poll();
      if (drainable == null) {
        break;
      }
      count++;
      drainable.queued = false;
      try {
        drainable.drain();
      } catch (Throwable e) {
        thrown.accept(e);
      }
    }
    return count;
  }
}
