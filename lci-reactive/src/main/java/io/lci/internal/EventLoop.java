/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.LciLoop;
import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.Poster;
import io.lci.am.Message;
import io.lci.internal.LoopScheduler.Scheduled;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.Layout;
import io.lci.nativebridge.NativeScratch;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.Exceptions;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.NonBlocking;
import reactor.core.scheduler.Scheduler;
import reactor.util.concurrent.Queues;

/**
 * One event loop. A turn: tasks and timers, signals that are due, waiting operations that may go,
 * one crossing, the records it brought, the signals they caused. Everything that is marked "loop
 * only" in this package is touched by its thread alone.
 */
final class EventLoop implements LciLoop {
  private static final Logger LOG = LoggerFactory.getLogger(LciRuntime.class);
  private static final int ALL = Codes.ENTER_POST | Codes.ENTER_PROGRESS | Codes.ENTER_DRAIN;

  /** Tasks and signals taken per turn, so that neither starves the lane. */
  private static final int TASK_BUDGET = 1024;

  private static final long LONGEST_PARK_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
  private static final long PACKET_PARK_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  /** How often the loop looks for stalls and for what the core has to say. */
  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  private final RuntimeImpl runtime;
  private final int index;
  private final Lane lane;
  private final Outbox outbox;
  private final Dispatcher dispatcher;
  private final Leases leases = new Leases(this);
  private final Poster poster = new PosterImpl(this);
  private final NativeScratch relayStatus = new NativeScratch(Layout.STATUS_SIZE / Long.BYTES);
  private final int idleSpins;
  private final int idleYields;
  private final long stallNanos;

  // From any thread
  private final Queue<LoopTask> tasks = Queues.<LoopTask>unboundedMultiproducer().get();
  private final AtomicInteger wakers = new AtomicInteger();
  private volatile @Nullable Thread thread;
  private volatile boolean ended;

  // Loop only
  private final ArrayDeque<Drainable> drainables = new ArrayDeque<>();
  private final PriorityQueue<Scheduled> timers = new PriorityQueue<>();
  private final Set<LoopSubscription<?>> active = new LinkedHashSet<>();
  private int graphRuns;
  private long now;
  private long nextLook;
  private boolean enterSoon = true;
  private boolean entered;
  private boolean inTurn;
  private boolean closing;
  private boolean finishing;
  private long closeBy;

  // Counters; written by the loop, read by snapshots without order
  private long turns;
  private final LoopTime time = new LoopTime();
  private long enters;
  private long parks;
  private long uncaughtErrors;

  EventLoop(RuntimeImpl runtime, int index, Lane lane) {
    this.runtime = runtime;
    this.index = index;
    this.lane = lane;
    this.outbox = new Outbox(this, lane, runtime);
    this.dispatcher = new Dispatcher(this, lane);
    LciOptions options = runtime.options();
    this.idleSpins = options.idleSpins();
    this.idleYields = options.idleYields();
    this.stallNanos = options.stallWarning().toNanos();
    this.now = System.nanoTime();
    this.nextLook = now + LOOK_NANOS;
  }

  /** Starts the thread of a dedicated loop. */
  void start() {
    Thread starting = new LoopThread(this);
    thread = starting;
    starting.start();
  }

  // Collaborators

  RuntimeImpl runtime() {
    return runtime;
  }

  Lane lane() {
    return lane;
  }

  Outbox outbox() {
    return outbox;
  }

  Dispatcher dispatcher() {
    return dispatcher;
  }

  /** Time of this turn, on the clock of {@link System#nanoTime()}. */
  long now() {
    return now;
  }

  boolean isClosing() {
    return closing;
  }

  boolean isEncoding() {
    return outbox.isEncoding();
  }

  /** Messages of its inboxes that are lent. */
  Leases leases() {
    return leases;
  }

  @Nullable Thread thread() {
    return thread;
  }

  // Public view

  @Override
  public int index() {
    return index;
  }

  @Override
  public boolean inLoop() {
    return Thread.currentThread() == thread;
  }

  @Override
  public Scheduler scheduler() {
    return new LoopScheduler(this);
  }

  @Override
  public Poster poster() {
    return poster;
  }

  @Override
  public void dispose() {
    runtime.dispose();
  }

  @Override
  public boolean isDisposed() {
    return ended;
  }

  @Override
  public String toString() {
    return "lci-loop-" + index;
  }

  // From any thread

  /**
   * Runs a task on the loop, in order of offering.
   *
   * @return false if the loop has ended; the task was then rejected
   */
  boolean execute(LoopTask task) {
    tasks.offer(task);
    VarHandle
        .fullFence(); // the offer before the look at the park word, as the loop does it the other
    // way round
    if (ended) {
      rejectTasks();
      return false;
    }
    if (lane.isParkAnnounced()) {
      wake();
    }
    return true;
  }

  private void wake() {
    wakers.incrementAndGet(); // the lane is not freed while someone is in here
    try {
      if (!ended) {
        lane.wake();
      }
    } finally {
      wakers.decrementAndGet();
    }
  }

  private synchronized void rejectTasks() {
    for (LoopTask task = tasks.poll(); task != null; task = tasks.poll()) {
      try {
        task.rejected();
      } catch (Throwable e) {
        Exceptions.throwIfJvmFatal(e);
        uncaught(e);
      }
    }
  }

  // Loop only

  void markReady(Drainable drainable) {
    if (!drainable.queued) {
      drainable.queued = true;
      drainables.add(drainable);
    }
  }

  /** The core was entered: completion objects may have been signalled. */
  void entered() {
    entered = true;
  }

  /** A run of a graph began that a graceful close waits for. */
  void runBegan() {
    graphRuns++;
  }

  void runEnded() {
    graphRuns--;
  }

  /** Something in the lane changed that the core should see: do not skip the next enter. */
  void enterSoon() {
    enterSoon = true;
  }

  /** The subscription must be told when the runtime closes. */
  void activate(LoopSubscription<?> subscription) {
    active.add(subscription);
  }

  void deactivate(LoopSubscription<?> subscription) {
    active.remove(subscription);
  }

  void addTimer(Scheduled timer) {
    timers.add(timer);
  }

  void removeTimer(Scheduled timer) {
    timers.remove(timer);
  }

  /** Passes the signal of an operation that kept its slot on to a completion object. */
  void relay(
      NativeTarget target,
      int code,
      int userContext,
      @Nullable Message message,
      int rank,
      long tag,
      int size) {
    int kept = target.keep(message);
    relayStatus.putLong(Layout.STATUS_CODE / 8, (code & 0xFFFF_FFFFL) | (long) rank << 32);
    relayStatus.putLong(Layout.STATUS_TAG / 8, tag);
    relayStatus.putLong(Layout.STATUS_BUFFER / 8, 0);
    relayStatus.putLong(Layout.STATUS_SIZE_FIELD / 8, size);
    relayStatus.putLong(
        Layout.STATUS_CONTEXT / 8, (kept & 0xFFFF_FFFFL) | (long) userContext << 32);
    relayStatus.putLong(Layout.STATUS_PORT / 8, 0);
    // It may have gone, or go now, on another loop
    int result =
        (int)
            runtime.withCore(
                () ->
                    target.isDisposed()
                        ? Codes.ERR_CLOSED
                        : lane.calls.compSignal(target.handle(), relayStatus.address(0)),
                Codes.ERR_CLOSED);
    if (Codes.isError(result)) {
      target.refused(kept);
      if (target.isDisposed()) {
        return;
      }
      uncaught(
          new IllegalStateException(
              "signal of a completion object: " + Errors.name(lane.calls, result)));
    }
    enterSoon();
  }

  /** Asks the core to cancel an unmatched receive; whoever waited for it is gone already. */
  void cancelReceive(long context) {
    markReady(new NativeCancel(this, context)); // the outbox may be settling a batch just now
  }

  /** User code threw where nobody can be told: logged and counted. */
  void uncaught(Throwable error) {
    uncaughtErrors++;
    LOG.error("{}: uncaught in user code or native call", this, error);
  }

  /** As {@link #uncaught}; what is fatal to the JVM ends the loop, unless it is ending already. */
  private void thrown(Throwable error) {
    if (!finishing) {
      Exceptions.throwIfJvmFatal(error);
    }
    uncaught(error);
  }

  void stalled(Destination destination, long nanos) {
    runtime.stalled(this, destination, Duration.ofNanos(nanos));
  }

  // The turn

  private int turn() {
    inTurn = true;
    try {
      turns++;
      now = System.nanoTime();
      time.turn(now);
      int work = runTasks() + runTimers() + drain() + outbox.resubmit();
      boolean look = now - nextLook >= 0;
      // A bell tells of most things; of room for packets, and of the end of a peer's process, none
      // does
      if (outbox.hasBatch() || enterSoon || outbox.wantsPackets() || look || lane.rings(now)) {
        enterSoon = false;
        enters++;
        outbox.enter(ALL);
        work += lane.moved() + dispatch();
      }
      lookAtObjects();
      work += drain();
      lookAtObjects(); // signals may have posted, and so crossed
      if (look) {
        nextLook = now + LOOK_NANOS;
        if (index == 0) {
          runtime.tellLog();
        }
        if (stallNanos > 0) {
          outbox.reportStalls(now, stallNanos);
        }
      }
      if (closing && (now - closeBy >= 0 || isQuiet())) {
        finish();
        return 1;
      }
      return time.found(work);
    } finally {
      inTurn = false;
    }
  }

  private void lookAtObjects() {
    if (entered) {
      entered = false;
      runtime.lookAtObjects();
    }
  }

  private int dispatch() {
    int count = dispatcher.dispatch();
    if (count > 0) {
      enterSoon = true; // the core takes the records back, and credits return
    }
    return count;
  }

  private int runTasks() {
    int count = 0;
    while (count < TASK_BUDGET) {
      LoopTask task = tasks.poll();
      if (task == null) {
        break;
      }
      count++;
      try {
        task.run();
      } catch (Throwable e) {
        thrown(e);
      }
    }
    return count;
  }

  private int runTimers() {
    int count = 0;
    for (Scheduled timer = timers.peek();
        timer != null && timer.dueNanos() - now <= 0;
        timer = timers.peek()) {
      timers.poll();
      timer.run();
      count++;
    }
    return count;
  }

  private int drain() {
    int count = 0;
    while (count < TASK_BUDGET) {
      Drainable drainable = drainables.poll();
      if (drainable == null) {
        break;
      }
      count++;
      drainable.queued = false;
      try {
        drainable.drain();
      } catch (Throwable e) {
        thrown(e);
      }
    }
    return count;
  }

  private boolean isQuiet() {
    return graphRuns == 0 && outbox.isQuiet() && drainables.isEmpty() && tasks.isEmpty();
  }

  // Idling

  private void park() {
    lane.announcePark();
    if (!tasks.isEmpty() || !drainables.isEmpty() || outbox.wantsTurn() || outbox.hasBatch()) {
      lane.withdrawPark();
      return;
    }
    long longest = outbox.wantsPackets() ? PACKET_PARK_NANOS : LONGEST_PARK_NANOS;
    Scheduled timer = timers.peek();
    if (timer != null) {
      longest = Math.min(longest, Math.max(0, timer.dueNanos() - System.nanoTime()));
    }
    if (closing) {
      longest = Math.min(longest, Math.max(0, closeBy - System.nanoTime()));
    }
    parks++;
    long from = System.nanoTime();
    lane.park(longest);
    time.slept(from, System.nanoTime());
    enterSoon = true;
  }

  private void idle(int empty) {
    if (empty <= idleSpins) {
      Thread.onSpinWait();
    } else if (empty - idleSpins <= idleYields) {
      Thread.yield();
    } else {
      park();
    }
  }

  /** The body of a dedicated loop's thread. */
  private void runDedicated() {
    int empty = 0;
    while (!ended) {
      try {
        if (turn() > 0) {
          empty = 0;
        } else if (!ended) {
          idle(++empty);
        }
      } catch (Throwable e) { // fatal or not: whoever waits for this loop must hear of its end
        crash(e);
      }
    }
  }

  private void crash(Throwable error) {
    try {
      LOG.error("{}: the loop failed and the runtime is closing", this, error);
    } finally { // the log may fail, too, for want of memory
      runtime.failed(error);
      if (!ended) {
        finish();
      }
    }
  }

  // Invoker

  @Override
  public int poll() {
    claim();
    if (ended) {
      return 0;
    }
    int work = turn();
    time.end(System.nanoTime());
    if (work == 0) {
      enterSoon = true; // some of what a park would notice shows only in an enter
    }
    return work;
  }

  @Override
  public <T> @Nullable T await(Mono<T> mono, Duration limit) {
    claim();
    AwaitSubscriber<T> result = new AwaitSubscriber<>();
    mono.subscribe(result);
    long deadline = System.nanoTime() + limit.toNanos();
    int empty = 0;
    while (!result.isDone() && !ended) {
      if (turn() > 0) {
        empty = 0;
        continue;
      }
      if (System.nanoTime() - deadline >= 0) {
        result.cancel();
        throw new IllegalStateException("await: nothing came within " + limit);
      }
      idle(++empty);
    }
    return result.get();
  }

  private void claim() {
    if (!runtime.options().invoker()) {
      throw new IllegalStateException(
          this + " drives itself; poll and await are for invoker loops");
    }
    Thread current = Thread.currentThread();
    synchronized (this) {
      Thread owner = thread;
      if (owner == null || !owner.isAlive()) { // a dead owner leaves the loop to the next
        if (owner != null) {
          InvokerThreads.unregister(owner);
        }
        InvokerThreads.register(current);
        thread = current;
      }
    }
    if (thread != current) {
      throw new IllegalStateException(this + " is driven by " + thread);
    }
    if (inTurn) {
      throw new IllegalStateException("poll and await must not be called from a signal of " + this);
    }
    time.forget();
  }

  /** Whether the calling thread is inside a turn of this loop. */
  boolean inSignal() {
    return inLoop() && (inTurn || !runtime.options().invoker());
  }

  // Closing

  /** Takes no new operations; ends when quiet, or at the time given. */
  void close(long closeByNanos) {
    boolean taken =
        execute(
            new LoopTask() {
              @Override
              public void run() {
                closeBy = closing ? Math.min(closeBy, closeByNanos) : closeByNanos;
                if (!closing) {
                  closing = true;
                  active.forEach(LoopSubscription::schedule);
                }
              }
            });
    if (!taken) {
      LOG.debug("{} had ended already", this);
    }
  }

  /**
   * Every step is taken, whatever the ones before threw: the other loops and close() wait for it.
   */
  private void finish() {
    closing = true;
    finishing = true;
    RuntimeException reason = Errors.closed("runtime closed");
    guarded(outbox::flush);
    guarded(() -> outbox.failParked(-1, Codes.ERR_CLOSED));
    guarded(
        () -> outbox.slots.abandon(-1, owner -> Errors.closed("operation outstanding at close")));
    guarded(() -> dispatcher.closeInboxes(reason));
    for (LoopSubscription<?> subscription : List.copyOf(active)) {
      guarded(subscription::onAbort);
    }
    guarded(() -> runtime.loopEnding(this));
    for (int work = 1; work > 0; ) {
      work = runTasks() + drain();
    }
    ended = true;
    while (wakers.get() != 0) {
      Thread.yield();
    }
    guarded(leases::moveOut);
    guarded(() -> runtime.alone(lane::free));
    guarded(this::rejectTasks);
    for (Scheduled timer : timers) {
      guarded(timer::rejected);
    }
    timers.clear();
    Thread driver = thread;
    if (driver != null && runtime.options().invoker()) {
      InvokerThreads.unregister(driver);
    }
    runtime.loopEnded();
  }

  private void guarded(Runnable step) {
    try {
      step.run();
    } catch (Throwable e) {
      thrown(e);
    }
  }

  // Counters

  /** Adds this loop's counters to {@code into}. Any thread; values are recent. */
  void count(java.util.Map<String, Long> into) {
    into.merge("loop_turns", turns, Long::sum);
    into.merge("loop_enters", enters, Long::sum);
    into.merge("loop_parks", parks, Long::sum);
    into.merge("loop_posts", outbox.posts, Long::sum);
    into.merge("loop_refusals", outbox.refusals, Long::sum);
    into.merge("loop_resubmitted", outbox.resubmitted, Long::sum);
    into.merge("loop_parked", (long) outbox.parkedCount(), Long::sum);
    into.merge("loop_in_slots", (long) outbox.slots.size(), Long::sum);
    into.merge("loop_records", dispatcher.records, Long::sum);
    into.merge("loop_messages", dispatcher.messages, Long::sum);
    into.merge("loop_late_data", dispatcher.lateData, Long::sum);
    into.merge("loop_leased", leases.count().longValue(), Long::sum);
    into.merge("loop_leased_without_copy", leases.withoutCopy, Long::sum);
    outbox.retries.count(into);
    time.count(into);
    into.merge("loop_uncaught", uncaughtErrors, Long::sum);
    into.merge("loop_late_wakes", ended ? 0L : lane.lateWakes(), Long::sum);
  }

  /** The thread of a dedicated loop: Reactor refuses blocking calls on it. */
  private static final class LoopThread extends Thread implements NonBlocking {
    private final EventLoop loop;

    LoopThread(EventLoop loop) {
      super("lci-loop-" + loop.index);
      this.loop = loop;
      setDaemon(true);
    }

    @Override
    public void run() {
      loop.runDedicated();
    }
  }
}
