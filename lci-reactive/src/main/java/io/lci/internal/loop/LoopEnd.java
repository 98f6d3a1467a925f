/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import io.lci.LciRuntime;
import io.lci.internal.loop.LoopScheduler.Scheduled;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The end of a loop: what it waits for, and what it then takes away. Loop only, but {@link #by}.
 */
final class LoopEnd {
  private static final Logger LOG = LoggerFactory.getLogger(LciRuntime.class);

  /**
   * Rounds in which what follows from the end is run. User code may add to each, for ever: a task
   * that schedules itself, a retry.
   */
  private static final int LAST_ROUNDS = 1000;

  private final EventLoop loop;
  private final LoopWork work;
  private final Pending pending;
  private final TaskQueue tasks;
  private final Set<LoopSubscription<?>> active = new LinkedHashSet<>();
  private int graphRuns;
  private boolean closing;
  private boolean finishing;
  private long closeBy;

  /** What is waited for when nothing else is under way. */
  private @Nullable Behind behind;

  LoopEnd(EventLoop loop, LoopWork work, Pending pending) {
    this.loop = loop;
    this.work = work;
    this.pending = pending;
    this.tasks = pending.tasks;
  }

  // What is told, or waited for

  void activate(LoopSubscription<?> subscription) {
    active.add(subscription);
  }

  void deactivate(LoopSubscription<?> subscription) {
    active.remove(subscription);
  }

  void runBegan() {
    graphRuns++;
  }

  void runEnded() {
    graphRuns--;
  }

  // Closing

  /** Takes no new operations; ends when quiet, or at the time given. Any thread. */
  void by(long closeByNanos) {
    if (!tasks.execute(() -> begin(closeByNanos))) {
      LOG.debug("{} had ended already", loop);
    }
  }

  private void begin(long closeByNanos) {
    closeBy = closing ? Math.min(closeBy, closeByNanos) : closeByNanos;
    if (!closing) {
      closing = true;
      for (LoopSubscription<?> subscription : List.copyOf(active)) {
        loop.guarded(subscription::onClosing); // user code in there may end others
      }
    }
  }

  boolean isClosing() {
    return closing;
  }

  /** Whether {@link #finish()} was called. */
  boolean isFinishing() {
    return finishing;
  }

  /** Whether it is time to finish. */
  boolean isDue(long now) {
    return closing && (now - closeBy >= 0 || isQuiet());
  }

  /**
   * Whether nothing is under way, and what waited at that time to be run or signalled was. What
   * comes after that is not waited for: a task may schedule itself again for ever.
   */
  private boolean isQuiet() {
    if (graphRuns > 0 || !work.isQuiet() || isAwaited()) {
      behind = null;
      return false;
    }
    Behind last = behind;
    if (last == null) {
      last = new Behind();
      behind = last;
      tasks.execute(last);
    }
    return last.reached;
  }

  private boolean isAwaited() {
    for (LoopSubscription<?> subscription : active) {
      if (subscription.holdsClose()) {
        return true;
      }
    }
    return false;
  }

  /** Behind the tasks that wait, and then behind the signals that wait. */
  private final class Behind extends Drainable implements LoopTask {
    private boolean reached;

    @Override
    public void run() {
      loop.markReady(this);
    }

    @Override
    public void drain() {
      reached = true;
    }
  }

  /** How long until it is time at the latest, at most {@code longest} nanoseconds. */
  long until(long longest) {
    return closing ? Math.min(longest, Math.max(0, closeBy - System.nanoTime())) : longest;
  }

  /**
   * Ends everything of the loop, and the loop. Every step is taken, whatever the ones before threw:
   * the other loops and close() wait for it.
   */
  void finish() {
    if (!closing || graphRuns > 0 || !work.isQuiet()) {
      loop.core().ending.abruptly();
    }
    if (!loop.core().ending.isAbrupt()) {
      loop.guarded(work::leave);
    }
    closing = true;
    finishing = true;
    loop.guarded(work::abandon);
    loop.guarded(() -> loop.host().loopEnding(loop));
    runWhatFollows(pending::runRound);
    tasks.end();
    runWhatFollows(pending::drainRound); // new operations fail at once now
    loop.guarded(work::moveOut);
    loop.guarded(work::free);
    loop.guarded(tasks::reject);
    for (Scheduled timer : pending.timers.takeAll()) {
      loop.guarded(timer::rejected);
    }
    loop.released();
    loop.host().loopEnded();
  }

  private void runWhatFollows(IntSupplier round) {
    int rounds = 0;
    while (abortActive() + round.getAsInt() > 0 && ++rounds < LAST_ROUNDS) {
      // until nothing follows
    }
  }

  /** Ends those that are there, also who came while others ended; returns how many. */
  private int abortActive() {
    List<LoopSubscription<?>> ending = List.copyOf(active);
    active.clear();
    ending.forEach(subscription -> loop.guarded(subscription::onAbort));
    return ending.size();
  }
}
