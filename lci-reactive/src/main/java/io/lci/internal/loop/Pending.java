/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import java.util.function.Consumer;

/** What waits at a loop: tasks of any thread, signals that are due, timers. Loop only. */
final class Pending {
  final TaskQueue tasks;
  final ReadyQueue ready = new ReadyQueue();
  final Timers timers = new Timers();
  final WatchList watched = new WatchList();

  /** Once, not for each turn. */
  final Consumer<Throwable> onThrown;

  Pending(LoopBell bell, Faults faults) {
    this.tasks = new TaskQueue(bell, faults::uncaught);
    this.onThrown = faults::thrown;
  }

  /** Whether something waits that no bell tells of. */
  boolean hasWork() {
    return !tasks.isEmpty() || !ready.isEmpty();
  }

  /** Runs what waits, and nothing of what that brings; returns how much there was. */
  int runRound() {
    return tasks.runRound(onThrown) + drainRound();
  }

  /** As {@link #runRound}, of what has signals to deliver. */
  int drainRound() {
    return ready.drain(ready.size(), onThrown);
  }
}
