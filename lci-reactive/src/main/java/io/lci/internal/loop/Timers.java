/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import io.lci.internal.loop.LoopScheduler.Scheduled;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;

/** The delayed and periodic tasks of a loop. Loop only. */
final class Timers {
  private final PriorityQueue<Scheduled> queue = new PriorityQueue<>();

  /** Due in this turn, and not run yet. */
  private final ArrayDeque<Scheduled> due = new ArrayDeque<>();

  void add(Scheduled timer) {
    queue.add(timer);
  }

  void remove(Scheduled timer) {
    queue.remove(timer);
  }

  /**
   * Runs what is due, each once: a period that is too short for its task would never let the loop
   * do anything else. Returns how many.
   */
  int run(long now) {
    for (Scheduled timer = queue.peek();
        timer != null && timer.dueNanos() - now <= 0;
        timer = queue.peek()) {
      due.add(queue.remove());
    }
    int count = 0;
    for (Scheduled timer = due.poll(); timer != null; timer = due.poll()) {
      timer.run();
      count++;
    }
    return count;
  }

  /** How long until the next one is due, at most {@code longest} and at least 0 nanoseconds. */
  long until(long longest) {
    Scheduled next = queue.peek();
    return next == null
        ? longest
        : Math.min(longest, Math.max(0, next.dueNanos() - System.nanoTime()));
  }

  /** Takes everything out. */
  List<Scheduled> takeAll() {
    List<Scheduled> all = new ArrayList<>(due);
    all.addAll(queue);
    due.clear();
    queue.clear();
    return all;
  }
}
