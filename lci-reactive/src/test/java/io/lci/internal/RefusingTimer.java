/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import java.util.concurrent.TimeUnit;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.scheduler.Scheduler;

/** A program's own timer, which takes no task: it throws what no scheduler should. */
public final class RefusingTimer implements Scheduler {
  /** What it throws. */
  public static final Error THROWN = new AssertionError("takes nothing");

  private final boolean takesPeriods;

  /**
   * @param takesPeriods whether it takes periodic tasks, which it never runs
   */
  public RefusingTimer(boolean takesPeriods) {
    this.takesPeriods = takesPeriods;
  }

  @Override
  public Disposable schedule(Runnable task) {
    throw THROWN;
  }

  @Override
  public Disposable schedule(Runnable task, long delay, TimeUnit unit) {
    throw THROWN;
  }

  @Override
  public Disposable schedulePeriodically(Runnable task, long first, long next, TimeUnit unit) {
    if (!takesPeriods) {
      throw THROWN;
    }
    return Disposables.single();
  }

  @Override
  public Worker createWorker() {
    throw THROWN;
  }
}
