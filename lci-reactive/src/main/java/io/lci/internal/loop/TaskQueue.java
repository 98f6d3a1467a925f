/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import java.lang.invoke.VarHandle;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import reactor.core.Exceptions;
import reactor.util.concurrent.Queues;

/**
 * What other threads hand to a loop, in order of offering, and the wake of a loop that sleeps. Who
 * offers looks at the park word after it; the loop announces its park and looks here after that: so
 * one of the two sees the other. Any thread, but {@link #run} and {@link #end} are the loop's.
 */
public final class TaskQueue {
  private final LoopBell bell;
  private final Consumer<Throwable> uncaught;
  private final Queue<LoopTask> tasks = Queues.<LoopTask>unboundedMultiproducer().get();
  private final AtomicInteger wakers = new AtomicInteger();
  private volatile boolean ended;
  private volatile boolean rejecting;

  /**
   * @param uncaught hears of what a task threw that was rejected
   */
  public TaskQueue(LoopBell bell, Consumer<Throwable> uncaught) {
    this.bell = bell;
    this.uncaught = uncaught;
  }

  /**
   * Offers a task.
   *
   * @return false if the loop has ended; the task was then rejected, or is about to be
   */
  public boolean execute(LoopTask task) {
    tasks.offer(task);
    VarHandle.fullFence(); // the offer before the look at the park word
    if (ended) {
      if (rejecting) {
        rejectLeft();
      } // else the loop does, after its last signals
      return false;
    }
    if (bell.isParkAnnounced()) {
      wake();
    }
    return true;
  }

  private void wake() {
    wakers.incrementAndGet(); // the lane is not freed while someone is in here
    try {
      if (!ended) {
        bell.wake();
      }
    } finally {
      wakers.decrementAndGet();
    }
  }

  public boolean isEmpty() {
    return tasks.isEmpty();
  }

  boolean hasEnded() {
    return ended;
  }

  /** Runs at most {@code budget} tasks; returns how many. */
  public int run(int budget, Consumer<Throwable> thrown) {
    int count = 0;
    while (count < budget) {
      LoopTask task = tasks.poll();
      if (task == null) {
        break;
      }
      count++;
      try {
        task.run();
      } catch (Throwable e) {
        thrown.accept(e);
      }
    }
    return count;
  }

  /** Runs the tasks that are here, and none that they bring; returns how many. */
  int runRound(Consumer<Throwable> thrown) {
    Marker behind = new Marker();
    tasks.offer(behind);
    int count = -1;
    while (!behind.reached) {
      count += run(1, thrown);
    }
    return count;
  }

  private static final class Marker implements LoopTask {
    private boolean reached;

    @Override
    public void run() {
      reached = true;
    }
  }

  /** From now on tasks are rejected; returns when nobody is about to wake the lane any more. */
  public void end() {
    ended = true;
    while (wakers.get() != 0) {
      Thread.yield();
    }
  }

  /** No signal comes from the loop any more: rejects what is left, and from now on what comes. */
  public void reject() {
    rejecting = true; // before the look at the queue: one of the two sees the other
    rejectLeft();
  }

  private synchronized void rejectLeft() {
    for (LoopTask task = tasks.poll(); task != null; task = tasks.poll()) {
      try {
        task.rejected();
      } catch (Throwable e) {
        Exceptions.throwIfJvmFatal(e);
        uncaught.accept(e);
      }
    }
  }
}
