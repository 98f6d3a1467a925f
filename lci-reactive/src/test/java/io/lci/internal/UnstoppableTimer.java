/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import java.util.concurrent.TimeUnit;
import reactor.core.Disposable;
import reactor.core.Exceptions;
import reactor.core.scheduler.Scheduler;
import reactor.test.scheduler.VirtualTimeScheduler;

/** A program's own timer, which throws when a task of it is to be stopped. */
public final class UnstoppableTimer implements Scheduler {
  /** Which tasks cannot be stopped. */
  public enum Which {
    SINGLE,
    PERIODIC
  }

  public final VirtualTimeScheduler clock = VirtualTimeScheduler.create();
  private final Throwable thrown;
  private final Which which;

  public UnstoppableTimer(Throwable thrown, Which which) {
    this.thrown = thrown;
    this.which = which;
  }

  private Disposable task(Which kind, Disposable task) {
    return kind != which
        ? task
        : () -> {
          if (thrown instanceof Error error) {
            throw error;
          }
          throw Exceptions.propagate(thrown);
        };
  }

  @Override
  public Disposable schedule(Runnable task) {
    return clock.schedule(task);
  }

  @Override
  public Disposable schedule(Runnable task, long delay, TimeUnit unit) {
    return task(Which.SINGLE, clock.schedule(task, delay, unit));
  }

  @Override
  public Disposable schedulePeriodically(Runnable task, long first, long next, TimeUnit unit) {
    return task(Which.PERIODIC, clock.schedulePeriodically(task, first, next, unit));
  }

  @Override
  public long now(TimeUnit unit) {
    return clock.now(unit);
  }

  @Override
  public Worker createWorker() {
    return clock.createWorker();
  }
}
