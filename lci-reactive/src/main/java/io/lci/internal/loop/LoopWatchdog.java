/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import io.lci.LciRuntime;
import io.lci.error.LciException.Detail;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.core.Nanos;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.scheduler.Scheduler;

/**
 * Looks at the loops of a runtime from the outside, and names the user code that keeps one of them
 * in a turn. Runs on the runtime's timer, one look at a time.
 */
public final class LoopWatchdog implements Runnable {
  private static final Logger LOG = LoggerFactory.getLogger(LciRuntime.class);

  /** Looks in the time after which a turn is too long. */
  private static final int LOOKS = 4;

  private static final int FRAMES = 12;

  /** Code that users do not write, but that calls theirs or is called by it. */
  private static final List<String> NOT_USERS =
      List.of(
          "java.",
          "javax.",
          "jdk.",
          "sun.",
          "com.sun.",
          "reactor.core.",
          "reactor.util.",
          "org.reactivestreams.",
          "io.lci.internal.",
          "io.lci.nativebridge.");

  /** What was seen of a loop at the last looks. */
  private static final class Seen {
    final TurnWatch watch = new TurnWatch();
    boolean told;

    /** Passes of other loops, before the turn. */
    long helped;
  }

  private final CoreRuntime core;
  private final PerLoop<EventLoop> loops;
  private final Scheduler timer;
  private final long limitNanos;
  private final List<Seen> seen = new ArrayList<>();

  private LoopWatchdog(CoreRuntime core, PerLoop<EventLoop> loops, long limitNanos) {
    this.core = core;
    this.loops = loops;
    this.timer = core.timer();
    this.limitNanos = limitNanos;
  }

  /**
   * Starts one, unless it is turned off; disposing ends it.
   *
   * @throws io.lci.error.LciException if the timer takes no task, see {@link TimerRefusal}
   */
  public static Disposable start(CoreRuntime core, PerLoop<EventLoop> loops) {
    long limit = Nanos.of(core.options.blockedWarning());
    if (limit == 0) {
      return Disposables.disposed();
    }
    LoopWatchdog watchdog = new LoopWatchdog(core, loops, limit);
    long period = Math.max(1, limit / LOOKS);
    try {
      return watchdog.timer.schedulePeriodically(watchdog, period, period, TimeUnit.NANOSECONDS);
    } catch (RuntimeException e) {
      throw TimerRefusal.of(
          (code, hint) -> Detail.of("create runtime", code, hint), watchdog.timer, e);
    }
  }

  @Override
  public void run() {
    long now = timer.now(TimeUnit.NANOSECONDS);
    for (EventLoop loop : loops.all()) {
      if (loop.index() == seen.size()) {
        seen.add(new Seen());
      }
      look(loop, seen.get(loop.index()), now);
    }
  }

  private void look(EventLoop loop, Seen last, long now) {
    long time = last.watch.look(loop, now);
    if (time == 0) {
      last.told = false;
      last.helped = loop.helped();
      return;
    }
    Thread thread = loop.thread();
    if (!last.watch.isInTurn() || last.told || time < limitNanos || thread == null) {
      return;
    }
    StackTraceElement[] stack = thread.getStackTrace();
    Thread.State state = thread.getState();
    if (!last.watch.isSame(loop)) {
      return; // it came back just now, and the stack is of something else
    }
    last.told = true;
    loop.wasBlocked();
    tell(loop, state, Duration.ofNanos(time), List.of(stack), help(loop, last));
  }

  /** Says whether another loop progresses its devices meanwhile. */
  private static String help(EventLoop loop, Seen last) {
    EventLoop helper = loop.lastHelper();
    long passes = loop.helped() - last.helped;
    return helper == null || passes == 0
        ? "nothing else of it moves"
        : helper + " progresses its devices (" + passes + " passes found something)";
  }

  private void tell(
      EventLoop loop,
      Thread.State state,
      Duration time,
      List<StackTraceElement> stack,
      String help) {
    StackTraceElement culprit = culprit(stack);
    if (culprit == null) { // perhaps the machine has no time for it
      LOG.info(
          "rank {}: {} is in one turn for {} ms, without code of the program{}",
          core.rank,
          loop,
          time.toMillis(),
          lines(stack));
    } else {
      LOG.warn(
          "rank {}: {} is in one turn for {} ms, and {}: it {} in {}; see docs/thread-model.md{}",
          core.rank,
          loop,
          time.toMillis(),
          help,
          doing(state),
          culprit,
          lines(stack));
    }
    core.observer.tell(observer -> observer.loopBlocked(loop, time, stack));
  }

  /** A thread that only got no processor is runnable, too. */
  private static String doing(Thread.State state) {
    return state == Thread.State.RUNNABLE ? "runs, or waits for a processor," : "waits";
  }

  /** The innermost call that is the user's. */
  private static @Nullable StackTraceElement culprit(List<StackTraceElement> stack) {
    for (StackTraceElement frame : stack) {
      if (NOT_USERS.stream().noneMatch(frame.getClassName()::startsWith)) {
        return frame;
      }
    }
    return null;
  }

  private static String lines(List<StackTraceElement> stack) {
    StringBuilder text = new StringBuilder();
    for (StackTraceElement frame : stack.subList(0, Math.min(FRAMES, stack.size()))) {
      text.append(System.lineSeparator()).append("    at ").append(frame);
    }
    return text.toString();
  }
}
