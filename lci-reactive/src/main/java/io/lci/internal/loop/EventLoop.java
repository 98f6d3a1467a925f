/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import io.lci.LciLoop;
import io.lci.LciOptions;
import io.lci.Poster;
import io.lci.error.LciClosedException;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.core.Ending;
import io.lci.internal.loop.LoopScheduler.Scheduled;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/**
 * One event loop, as users and the other rooms see it. {@link LoopDriver} has it take one {@link
 * LoopTurn} after another, {@link LoopEnd} ends it. Everything that is marked "loop only" in this
 * package is touched by its thread alone.
 */
public final class EventLoop implements LciLoop {
  /** Most fresh descriptors of a turn, so that the core progresses between. */
  public static final int POST_BUDGET = 256;

  private final CoreRuntime core;
  private final LoopHost host;
  private final int index;
  private final List<Integer> devices;
  private final LoopWork work;
  private final Faults faults = new Faults(this);
  private final Pending pending;
  private final ReadyQueue ready;
  private final LoopTime time = new LoopTime();
  private final LoopOwner owner;
  private final Idler idler;
  private final LoopEnd end;
  private final LoopTurn turn;
  private final LoopDriver driver;
  private final AtomicLong blocked = new AtomicLong(); // by the watchdog
  private final AtomicLong helped = new AtomicLong(); // by other loops
  private volatile @Nullable EventLoop lastHelper;

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
    LciOptions options = core.options;
    this.pending = new Pending(bell, faults);
    this.ready = pending.ready;
    this.owner = new LoopOwner(this, options.invoker());
    this.work = makeWork.apply(this);
    this.end = new LoopEnd(this, work, pending);
    this.idler = new Idler(this, bell, work, options.idle(), time);
    this.turn = new LoopTurn(this, bell, work, time, pending, end, idler);
    this.driver = new LoopDriver(this, owner, idler, time);
  }

  /**
   * Lets it help the loops of its runtime, itself left out. Called before it starts; then loop
   * only.
   */
  public void mayHelp(List<EventLoop> all) {
    turn.helping(Helping.by(this, all, core.options.progress()));
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

  /** Its thread cannot start: what was handed to it is rejected, and what is yet to come. */
  public void neverStarted() {
    pending.tasks.end();
    pending.tasks.reject();
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
    return turn.now();
  }

  public boolean isClosing() {
    return end.isClosing();
  }

  /** Whether its end is under way. */
  boolean isFinishing() {
    return end.isFinishing();
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
    return turn.mark();
  }

  /** The watchdog saw that user code holds a turn. */
  void wasBlocked() {
    blocked.incrementAndGet();
  }

  /** Progresses its devices; returns whether anything moved. On the helper's thread. */
  boolean helpedBy(EventLoop helper) {
    if (!work.help()) {
      return false;
    }
    lastHelper = helper;
    helped.incrementAndGet();
    return true;
  }

  /** Passes of other loops over its devices that found something. Any thread. */
  long helped() {
    return helped.get();
  }

  /** The last loop that took such a pass. Any thread. */
  @Nullable EventLoop lastHelper() {
    return lastHelper;
  }

  /** How long it may sleep for the sake of others, in nanoseconds. */
  long longestPark() {
    return turn.longestPark();
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

  /** Whether it has ended. Any thread. */
  public boolean isDisposed() {
    return pending.tasks.hasEnded();
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
    return pending.tasks.execute(task);
  }

  // Loop only

  public void markReady(Drainable drainable) {
    ready.add(drainable);
  }

  /** The core was entered: completion objects may have been signalled. */
  public void entered() {
    turn.entered();
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
    turn.enterSoon();
  }

  /** The subscription must be told when the runtime closes. */
  public void activate(LoopSubscription<?> subscription) {
    end.activate(subscription);
  }

  public void deactivate(LoopSubscription<?> subscription) {
    end.deactivate(subscription);
  }

  /** Looks at it once in each turn, until it is over. */
  public void watch(Watched watched) {
    pending.watched.add(watched);
  }

  void addTimer(Scheduled timer) {
    pending.timers.add(timer);
  }

  void removeTimer(Scheduled timer) {
    pending.timers.remove(timer);
  }

  /** Whether something waits here that no bell tells of. */
  public boolean hasOwnWork() {
    return pending.hasWork();
  }

  /** Runs what waits here, and nothing of what that brings; returns how much there was. */
  public int runRound() {
    return pending.runRound();
  }

  /** As {@link #runRound}, of what has signals to deliver. */
  public int drainRound() {
    return pending.drainRound();
  }

  /** How long the loop may sleep, at most {@code longest} nanoseconds. */
  long untilDue(long longest) {
    return end.until(pending.timers.until(longest));
  }

  /** The runtime is closed, see {@link Ending#closed}. Any thread. */
  public LciClosedException closed(String operation) {
    return core.ending.closed(operation);
  }

  /** User code threw where nobody can be told: logged and counted. Any thread. */
  public void uncaught(Throwable error) {
    faults.uncaught(error);
  }

  /** The same, where it was logged. */
  public void countUncaught() {
    faults.countOne();
  }

  /** Runs what may throw by a user's fault; what follows goes on. Any thread. */
  public void guarded(Runnable step) {
    faults.guarded(step);
  }

  // Driving

  /** Takes one turn; returns how much there was to do. */
  int turn() {
    return turn.take();
  }

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
    return turn.isUnderWay();
  }

  /** Whether the calling thread is inside a turn of this loop. */
  public boolean inSignal() {
    return inLoop() && (turn.isUnderWay() || !core.options.invoker());
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
    turn.count(into);
    into.merge("loop_parks", idler.parks, Long::sum);
    into.merge("loop_stalls", blocked.get(), Long::sum);
    into.merge("loop_helped", helped.get(), Long::sum);
    work.count(into);
    time.count(into);
    into.merge("loop_uncaught", faults.count(), Long::sum);
  }
}
