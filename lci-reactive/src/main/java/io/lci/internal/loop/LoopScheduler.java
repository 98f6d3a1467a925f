/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import io.lci.internal.core.Nanos;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.Exceptions;
import reactor.core.scheduler.Scheduler;

/** A loop as a Reactor scheduler. Each view holds its own tasks; disposing it cancels those. */
public final class LoopScheduler implements Scheduler {
  private final EventLoop loop;
  private final Disposable.Composite tasks = Disposables.composite();

  public LoopScheduler(EventLoop loop) {
    this.loop = loop;
  }

  @Override
  public Disposable schedule(Runnable task) {
    return start(tasks, task, 0, 0, TimeUnit.NANOSECONDS);
  }

  @Override
  public Disposable schedule(Runnable task, long delay, TimeUnit unit) {
    return start(tasks, task, delay, 0, unit);
  }

  @Override
  public Disposable schedulePeriodically(
      Runnable task, long initialDelay, long period, TimeUnit unit) {
    return start(tasks, task, initialDelay, Math.max(1, period), unit);
  }

  @Override
  public Worker createWorker() {
    Disposable.Composite own = Disposables.composite();
    if (!tasks.add(own)) {
      own.dispose();
    }
    return new LoopWorker(own);
  }

  @Override
  public void dispose() {
    tasks.dispose();
  }

  @Override
  public boolean isDisposed() {
    return tasks.isDisposed() || loop.isDisposed();
  }

  private Disposable start(
      Disposable.Composite parent, Runnable task, long delay, long period, TimeUnit unit) {
    Scheduled scheduled =
        new Scheduled(loop, parent, task, Math.min(unit.toNanos(period), Nanos.MOST));
    if (!parent.add(scheduled)) {
      throw Exceptions.failWithRejected();
    }
    long delayNanos = Math.min(unit.toNanos(Math.max(0, delay)), Nanos.MOST); // sums stay in order
    if (!scheduled.start(delayNanos)) {
      parent.remove(scheduled);
      throw Exceptions.failWithRejected(
          new RejectedExecutionException("loop " + loop.index() + " has ended"));
    }
    return scheduled;
  }

  private final class LoopWorker implements Worker {
    private final Disposable.Composite own;

    LoopWorker(Disposable.Composite own) {
      this.own = own;
    }

    @Override
    public Disposable schedule(Runnable task) {
      return start(own, task, 0, 0, TimeUnit.NANOSECONDS);
    }

    @Override
    public Disposable schedule(Runnable task, long delay, TimeUnit unit) {
      return start(own, task, delay, 0, unit);
    }

    @Override
    public Disposable schedulePeriodically(
        Runnable task, long initialDelay, long period, TimeUnit unit) {
      return start(own, task, initialDelay, Math.max(1, period), unit);
    }

    @Override
    public void dispose() {
      own.dispose();
      tasks.remove(own);
    }

    @Override
    public boolean isDisposed() {
      return own.isDisposed();
    }
  }

  /** A task, once or periodic; sits in the loop's queue or in its timer heap. */
  static final class Scheduled implements LoopTask, Disposable, Comparable<Scheduled> {
    private final EventLoop loop;
    private final Disposable.Composite parent;
    private final long periodNanos;
    private volatile @Nullable Runnable task;

    /** When it is due, on the clock of {@link System#nanoTime()}; 0 at once. */
    private long dueNanos;

    Scheduled(EventLoop loop, Disposable.Composite parent, Runnable task, long periodNanos) {
      this.loop = loop;
      this.parent = parent;
      this.task = task;
      this.periodNanos = periodNanos;
    }

    boolean start(long delayNanos) {
      if (delayNanos > 0 || periodNanos > 0) {
        dueNanos = System.nanoTime() + delayNanos;
        return loop.execute(
            new LoopTask() {
              @Override
              public void run() {
                loop.addTimer(Scheduled.this);
              }

              @Override
              public void rejected() {
                Scheduled.this.rejected();
              }
            });
      }
      return loop.execute(this);
    }

    long dueNanos() {
      return dueNanos;
    }

    @Override
    public void run() {
      Runnable current = task;
      if (current == null) {
        return;
      }
      try {
        current.run();
      } catch (Throwable e) {
        Exceptions.throwIfJvmFatal(e);
        loop.uncaught(e);
      }
      if (periodNanos == 0) {
        finish();
      } else if (task != null) {
        dueNanos += periodNanos;
        loop.addTimer(this);
      }
    }

    private void finish() {
      task = null;
      parent.remove(this);
    }

    @Override
    public void rejected() {
      finish();
    }

    @Override
    public void dispose() {
      boolean delayed = dueNanos != 0;
      finish();
      if (delayed) {
        loop.execute(() -> loop.removeTimer(this));
      }
    }

    @Override
    public boolean isDisposed() {
      return task == null;
    }

    @Override
    public int compareTo(Scheduled other) {
      return Long.compare(dueNanos - other.dueNanos, 0);
    }
  }
}
