/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import io.lci.LciLoop;
import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.Poster;
import io.lci.error.LciClosedException;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.core.Ending;
import io.lci.internal.core.Nanos;
import io.lci.internal.core.Thrown;
import io.lci.internal.loop.LoopScheduler.Scheduled;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.Exceptions;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/**
 * One event loop. A turn: tasks and timers, signals that are due, waiting operations that may go,
 * one crossing, the records it brought, the signals they caused. Everything that is marked "loop
 * only" in this package is touched by its thread alone.
 */
public final class EventLoop implements LciLoop {
  private static final Logger LOG = LoggerFactory.getLogger(LciRuntime.class);

  /** Most fresh descriptors of a turn, so that the core progresses between. */
  public static final int POST_BUDGET = 256;

  /** Tasks and signals taken per turn, so that neither starves the lane. */
  private static final int TASK_BUDGET = 1024;

  /** How often the loop looks for stalls and for what the core has to say. */
  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  private final CoreRuntime core;
  private final LoopHost host;
  private final int index;
  private final List<Integer> devices;
  private final LoopBell bell;
  private final LoopWork work;
  private final Idler idler;
  private final long stallNanos;

  /** Once, not for each turn. */
  private final Consumer<Throwable> onThrown = this::thrown;

  private final BooleanSupplier postedEnough = this::hasPostedEnough;

  // From any thread
  private final TaskQueue tasks;

  /** Odd in a turn, even between turns. Written by the loop, read by the watchdog. */
  private final AtomicLong turnMark = new AtomicLong();

  private final LoopOwner owner;
  private final LoopDriver driver;

  // Loop only
  private final ReadyQueue ready = new ReadyQueue();
  private final Timers timers = new Timers();
  private final LoopEnd end;
  private long now;
  private long nextLook;
  private boolean enterSoon = true;
  private boolean entered;
  private boolean inTurn;

  /** What was written when the drain began. */
  private long postsBefore;

  // Counters; written by the loop, read by snapshots without order
  private long turns;
  private final LoopTime time = new LoopTime();
  private long enters;
  private final AtomicLong uncaughtErrors = new AtomicLong(); // any thread
  private final AtomicLong blocked = new AtomicLong(); // by the watchdog

  /**
   * @param devices those of the runtime that it serves
   * @param bell its lane
   * @param makeWork makes what it serves, which it is given to
   */
  public EventLoop(
      CoreRuntime core,
      LoopHost host,
      int index,
      List<Integer> devices,
      LoopBell bell,
      Function<EventLoop, ? extends LoopWork> makeWork) {
    this.core = core;
    this.host = host;
    this.index = index;
    this.devices = devices;
    this.bell = bell;
    LciOptions options = core.options;
    this.tasks = new TaskQueue(bell, this::uncaught);
    this.owner = new LoopOwner(this, options.invoker());
    this.stallNanos = Nanos.of(options.stallWarning());
    this.now = System.nanoTime();
    this.nextLook = now + LOOK_NANOS;
    this.work = makeWork.apply(this);
    this.end = new LoopEnd(this, work, tasks, timers);
    this.idler = new Idler(this, bell, work, options.idle(), time);
    this.driver = new LoopDriver(this, owner, idler, time);
  }

  /** Starts the thread of a dedicated loop, or throws what keeps it from starting. */
  public void start(Function<? super EventLoop, ? extends Thread> threads) {
    owner.start(threads);
  }

  /**
   * Ends everything of the loop, and the loop: on its thread, or on the calling one if its own
   * cannot start, so that nobody else can be in it.
   */
  public void finish() {
    end.finish();
  }

  // Collaborators

  public CoreRuntime core() {
    return core;
  }

  public LoopHost host() {
    return host;
  }

  /** Time of this turn, on the clock of {@link System#nanoTime()}. */
  public long now() {
    return now;
  }

  public boolean isClosing() {
    return end.isClosing();
  }

  /** As {@link LoopWork#isInBatch()}. */
  public boolean isInBatch() {
    return work.isInBatch();
  }

  public @Nullable Thread thread() {
    return owner.thread();
  }

  /** Odd while the loop is in a turn; another number for each. Any thread. */
  long turnMark() {
    return turnMark.get();
  }

  /** The watchdog saw that user code holds a turn. */
  void wasBlocked() {
    blocked.incrementAndGet();
  }

  /** The first of the runtime's devices that it serves. */
  public int firstDevice() {
    return devices.get(0);
  }

  // Public view

  @Override
  public int index() {
    return index;
  }

  @Override
  public List<Integer> devices() {
    return devices;
  }

  @Override
  public boolean inLoop() {
    return owner.isHere();
  }

  @Override
  public Scheduler scheduler() {
    return new LoopScheduler(this);
  }

  @Override
  public Poster poster() {
    return work.poster();
  }

  @Override
  public void dispose() {
    host.dispose();
  }

  @Override
  public boolean isDisposed() {
    return tasks.hasEnded();
  }

  @Override
  public String toString() {
    return "lci-loop-" + index;
  }

  // From any thread

  /**
   * Runs a task on the loop, in order of offering.
   *
   * @return false if the loop has ended; the task was then rejected, or is about to be
   */
  public boolean execute(LoopTask task) {
    return tasks.execute(task);
  }

  // Loop only

  public void markReady(Drainable drainable) {
    ready.add(drainable);
  }

  /** The core was entered: completion objects may have been signalled. */
  public void entered() {
    entered = true;
  }

  /** A run of a graph began that a graceful close waits for. */
  public void runBegan() {
    end.runBegan();
  }

  public void runEnded() {
    end.runEnded();
  }

  /** Something in the lane changed that the core should see: do not skip the next enter. */
  public void enterSoon() {
    enterSoon = true;
  }

  /** The subscription must be told when the runtime closes. */
  public void activate(LoopSubscription<?> subscription) {
    end.activate(subscription);
  }

  public void deactivate(LoopSubscription<?> subscription) {
    end.deactivate(subscription);
  }

  void addTimer(Scheduled timer) {
    timers.add(timer);
  }

  void removeTimer(Scheduled timer) {
    timers.remove(timer);
  }

  /** Whether something waits here that no bell tells of. */
  public boolean hasOwnWork() {
    return !tasks.isEmpty() || !ready.isEmpty();
  }

  /** Runs what waits here, and nothing of what that brings; returns how much there was. */
  public int runRound() {
    return tasks.runRound(onThrown) + drainRound();
  }

  /** As {@link #runRound}, of what has signals to deliver. */
  public int drainRound() {
    return ready.drain(ready.size(), onThrown);
  }

  /** How long the loop may sleep, at most {@code longest} nanoseconds. */
  long untilDue(long longest) {
    return end.until(timers.until(longest));
  }

  /** The runtime is closed, see {@link Ending#closed}. Any thread. */
  public LciClosedException closed(String operation) {
    return core.ending.closed(operation);
  }

  /** User code threw where nobody can be told: logged and counted. Any thread. */
  public void uncaught(Throwable error) {
    countUncaught();
    Thrown.log(error, e -> LOG.error("{}: uncaught in user code or native call", this, e));
  }

  /** The same, where it was logged. */
  public void countUncaught() {
    uncaughtErrors.incrementAndGet();
  }

  /** As {@link #uncaught}; what is fatal to the JVM ends the loop, unless it is ending already. */
  private void thrown(Throwable error) {
    if (!end.isFinishing()) {
      Exceptions.throwIfJvmFatal(error);
    }
    uncaught(error);
  }

  /** Runs what may throw by a user's fault; what follows goes on. Any thread. */
  public void guarded(Runnable step) {
    try {
      step.run();
    } catch (Throwable e) {
      thrown(e);
    }
  }

  // The turn

  /** Returns how much there was to do. */
  int turn() {
    inTurn = true;
    turnMark.lazySet(2 * turns + 1);
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
        found += work.enter() + dispatch();
      }
      lookAtObjects();
      found += drain();
      if (work.hasBatch()) {
        work.flush(); // who waits for it waits no turn longer
      }
      lookAtObjects(); // signals may have posted, and so crossed
      if (look) {
        nextLook = now + LOOK_NANOS;
        if (index == 0) {
          host.tidy();
        }
        if (stallNanos > 0) {
          work.reportStalls(now, stallNanos);
        }
      }
      if (end.isDue(now)) {
        end.finish();
        return 1;
      }
      return time.found(found);
    } finally {
      inTurn = false;
      turnMark.lazySet(2 * turns);
    }
  }

  private void lookAtObjects() {
    if (entered) {
      entered = false;
      host.lookAtObjects();
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
    postsBefore = work.posts();
    int count = ready.drain(TASK_BUDGET, postedEnough, onThrown);
    enterSoon |= hasPostedEnough(); // all of it may have gone out already, without progress
    return count;
  }

  /** Whether fresh descriptors have filled their share of a turn, as waiting ones do. */
  public boolean hasPostedEnough() {
    return work.posts() - postsBefore >= POST_BUDGET;
  }

  // Driving

  /** The body of a dedicated loop's thread. */
  void runDedicated() {
    driver.runDedicated();
  }

  @Override
  public int poll() {
    return poll(Duration.ZERO);
  }

  @Override
  public int poll(Duration limit) {
    return driver.poll(limit);
  }

  @Override
  public <T> @Nullable T await(Mono<T> mono, Duration limit) {
    return driver.await(mono, limit);
  }

  boolean isInTurn() {
    return inTurn;
  }

  /** Whether the calling thread is inside a turn of this loop. */
  public boolean inSignal() {
    return inLoop() && (inTurn || !core.options.invoker());
  }

  // Closing

  /** Takes no new operations; ends when quiet, or at the time given. */
  public void close(long closeByNanos) {
    end.by(closeByNanos);
  }

  /** It has ended, and its invoker may block again. */
  void released() {
    owner.release();
  }

  // Counters

  /** Adds this loop's counters to {@code into}. Any thread; values are recent. */
  public void count(Map<String, Long> into) {
    into.merge("loop_turns", turns, Long::sum);
    into.merge("loop_enters", enters, Long::sum);
    into.merge("loop_parks", idler.parks, Long::sum);
    into.merge("loop_stalls", blocked.get(), Long::sum);
    work.count(into);
    time.count(into);
    into.merge("loop_uncaught", uncaughtErrors.get(), Long::sum);
  }
}
