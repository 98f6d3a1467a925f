/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.scheduler.Scheduler;

/**
 * A clock for races: whatever waits is due at the next tick. Several threads may tick and schedule
 * at once, which a virtual-time scheduler does not stand: it looks at its first task and then takes
 * the first, which may be another by then, and who advances it while another does so returns before
 * the tasks have run.
 */
final class TickClock implements Scheduler {
  private record Waiting(Runnable task, Disposable handle) {}

  private final ConcurrentLinkedQueue<Waiting> waiting = new ConcurrentLinkedQueue<>();

  /** Runs what waits; when it returns, all that was scheduled before has run. */
  synchronized void tick() {
    for (Waiting next = waiting.poll(); next != null; next = waiting.poll()) {
      if (!next.handle.isDisposed()) {
        next.task.run();
      }
    }
  }

  @Override
  public Disposable schedule(Runnable task) {
    Disposable handle = Disposables.single();
    waiting.add(new Waiting(task, handle));
    return handle;
  }

  @Override
  public Disposable schedule(Runnable task, long delay, TimeUnit unit) {
    return schedule(task);
  }

  /** Never runs: the watchdog, which would only watch how slow races are. */
  @Override
  public Disposable schedulePeriodically(
      Runnable task, long initialDelay, long period, TimeUnit unit) {
    return Disposables.single();
  }

  @Override
  public Worker createWorker() {
    throw new UnsupportedOperationException("deadlines need none");
  }
}
