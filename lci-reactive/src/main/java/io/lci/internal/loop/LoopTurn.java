/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import io.lci.internal.core.CoreRuntime;
import io.lci.internal.core.Nanos;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/**
 * A turn of a loop: tasks and timers, signals that are due, waiting operations that may go, one
 * crossing, the records it brought, the signals they caused. Loop only, where nothing else is said.
 */
final class LoopTurn {
  /** Tasks and signals taken per turn, so that neither starves the lane. */
  private static final int TASK_BUDGET = 1024;

  /** How often the loop looks for stalls and for what the core has to say. */
  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  private final LoopHost host;
  private final LoopBell bell;
  private final LoopWork work;
  private final LoopTime time;
  private final Pending pending;
  private final TaskQueue tasks;
  private final ReadyQueue ready;
  private final Timers timers;
  private final WatchList watched;
  private final LoopEnd end;
  private final Idler idler;
  private final boolean isFirst;
  private final boolean isInvoker;
  private final long stallNanos;
  private final Consumer<Throwable> onThrown;

  /** Once, not for each turn. */
  private final BooleanSupplier postedEnough;

  private long now = System.nanoTime();
  private long nextLook = now + LOOK_NANOS;

  /** Set before the first turn. */
  private Helping helping = Helping.NONE;

  private boolean enterSoon = true;
  private boolean entered;
  private boolean inTurn;

  /** Odd in a turn, even between turns. Read by the watchdog, and by loops that help. */
  private final AtomicLong mark = new AtomicLong();

  // Counters; read by snapshots without order
  private long turns;
  private long enters;

  LoopTurn(
      EventLoop loop,
      LoopBell bell,
      LoopWork work,
      LoopTime time,
      Pending pending,
      LoopEnd end,
      Idler idler) {
    CoreRuntime core = loop.core();
    this.host = loop.host();
    this.bell = bell;
    this.work = work;
    this.postedEnough = work::hasPostedEnough;
    this.time = time;
    this.pending = pending;
    this.tasks = pending.tasks;
    this.ready = pending.ready;
    this.timers = pending.timers;
    this.watched = pending.watched;
    this.onThrown = pending.onThrown;
    this.end = end;
    this.idler = idler;
    this.isFirst = loop.index() == 0;
    this.isInvoker = core.options.invoker();
    this.stallNanos = Nanos.of(core.options.stallWarning());
  }

  /** Takes one; returns how much there was to do. */
  int take() {
    inTurn = true;
    mark.lazySet(2 * turns + 1);
    try {
      turns++;
      now = System.nanoTime();
      time.turn(now);
      int found = tasks.run(TASK_BUDGET, onThrown) + timers.run(now) + drain() + work.resubmit();
      boolean look = now - nextLook >= 0;
      // A bell tells of most things; of room for packets, and of the end of a peer's process, none
      // does
      if (work.hasBatch() || enterSoon || work.wantsPackets() || look || bell.rings(now)) {
        enterSoon = false;
        enters++;
        found += work.enter(mayStay()) + dispatch();
      }
      found += help();
      lookAtObjects();
      found += watched.look(onThrown) + drain();
      if (work.hasBatch() && !nextEnterWillDo()) {
        work.flush(); // what waits for it waits no turn longer
      }
      lookAtObjects(); // signals may have posted, and so crossed
      if (look) {
        nextLook = now + LOOK_NANOS;
        lookAround();
      }
      if (end.isDue(now)) {
        end.finish();
        return 1;
      }
      return time.found(found);
    } finally {
      inTurn = false;
      mark.lazySet(2 * turns);
    }
  }

  /** The loop has nothing else to do, and would spin. Of the thread of an invoker nobody knows. */
  private boolean mayStay() {
    return idler.spins()
        && !isInvoker
        && !pending.hasWork()
        && watched.isEmpty()
        && !work.wantsTurn();
  }

  /**
   * The next turn is at once, and crosses with nothing of the program's before it: calls of groups
   * save a crossing. When an invoker takes its next turn is not known.
   */
  private boolean nextEnterWillDo() {
    return enterSoon
        && !isInvoker
        && work.hasCallsAlone()
        && !pending.hasWork()
        && timers.until(1) > 0;
  }

  /** A pass may have signalled completion objects, as an enter may. */
  private int help() {
    int found = helping.pass(now);
    entered |= found > 0;
    return found;
  }

  private void lookAtObjects() {
    if (entered) {
      entered = false;
      host.lookAtObjects();
    }
  }

  private void lookAround() {
    if (isFirst) {
      host.tidy();
    }
    if (stallNanos > 0) {
      work.reportStalls(now, stallNanos);
    }
  }

  private int dispatch() {
    int count = work.dispatch();
    if (count > 0) {
      enterSoon = true; // the core takes the records back, and credits return
    }
    return count;
  }

  /** Bounded, as what is done at once would otherwise never let the core progress. */
  private int drain() {
    work.drainBegins();
    int count = ready.drain(TASK_BUDGET, postedEnough, onThrown);
    enterSoon |= work.hasPostedEnough(); // all of it may have gone out already, without progress
    return count;
  }

  void helping(Helping value) {
    helping = value;
  }

  /** How long the loop may sleep for the sake of others, in nanoseconds. */
  long longestPark() {
    return helping.longestPark();
  }

  long now() {
    return now;
  }

  void enterSoon() {
    enterSoon = true;
  }

  void entered() {
    entered = true;
  }

  boolean isUnderWay() {
    return inTurn;
  }

  /** Any thread. */
  long mark() {
    return mark.get();
  }

  /** Any thread; values are recent. */
  void count(Map<String, Long> into) {
    into.merge("loop_turns", turns, Long::sum);
    into.merge("loop_enters", enters, Long::sum);
  }
}
