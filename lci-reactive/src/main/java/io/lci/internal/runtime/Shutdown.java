/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.runtime;

import io.lci.LciRuntime;
import io.lci.error.LciException;
import io.lci.error.LciException.Detail;
import io.lci.internal.core.Ending;
import io.lci.internal.core.Nanos;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.TimerStop;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.Exceptions;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.core.scheduler.Scheduler;

/**
 * The end of a runtime: every loop is told to close by a time, the last one that ended closes the
 * core, and whoever waits is told. Any thread.
 */
public final class Shutdown {
  private static final Logger LOG = LoggerFactory.getLogger(LciRuntime.class);

  /** How long close() waits beyond its limit for a loop that user code holds. */
  private static final long STUCK_AFTER_NANOS = TimeUnit.SECONDS.toNanos(5);

  private final List<EventLoop> loops; // grows
  private final Ending ending;
  private final boolean invoker;
  private final @Nullable Scheduler timer;
  private final IntFunction<@Nullable Throwable> closeCore;
  private final Runnable observe;

  private final AtomicInteger loopsLeft;
  private volatile long closeBy;
  private final Sinks.Empty<Void> closed = Sinks.empty();
  private final CountDownLatch over = new CountDownLatch(1);
  private final Disposable.Composite limits = Disposables.composite();

  /** One of its loops could not start. */
  private volatile boolean stillborn;

  /**
   * @param timer the options' own scheduler of deadlines, on which the limit runs, too: virtual
   *     time may end it earlier, and cannot make it longer
   * @param closeCore given the milliseconds that are left, 0 for an abrupt end; returns the
   *     failure, or null
   * @param observe tells the instrumentation; only a fatal error of the JVM comes out of it
   */
  public Shutdown(
      List<EventLoop> loops,
      Ending ending,
      boolean invoker,
      @Nullable Scheduler timer,
      IntFunction<@Nullable Throwable> closeCore,
      Runnable observe) {
    this.loops = new CopyOnWriteArrayList<>(loops);
    this.ending = ending;
    this.invoker = invoker;
    this.timer = timer;
    this.closeCore = closeCore;
    this.observe = observe;
    this.loopsLeft = new AtomicInteger(loops.size());
  }

  /**
   * A loop is going to be added: the core stays until {@link #loopEnded()} was called for it, too.
   *
   * @throws io.lci.error.LciClosedException if the end has begun
   */
  synchronized void expectLoop() {
    ending.refuse("add loop");
    loopsLeft.incrementAndGet();
  }

  /** The loop that was expected. The end may have begun since: then this one ends, too. */
  void add(EventLoop loop) {
    loops.add(loop);
    if (ending.hasStarted()) {
      loop.close(closeBy);
    }
  }

  /** It did not start. */
  void remove(EventLoop loop) {
    loops.remove(loop);
  }

  public boolean isOver() {
    return over.getCount() == 0;
  }

  public Mono<Void> onClose() {
    return closed.asMono();
  }

  /** Starts, or shortens the time of a shutdown that has started. */
  public void start(Duration limit) {
    by(System.nanoTime() + Nanos.of(limit));
    if (timer != null && !limit.isZero()) {
      startTimer(timer, limit);
    }
  }

  private void by(long nanos) {
    shorten(nanos);
    for (EventLoop loop : loops) {
      loop.close(nanos);
    }
  }

  private void startTimer(Scheduler clock, Duration limit) {
    try {
      limits.add(
          clock.schedule(() -> by(System.nanoTime()), Nanos.of(limit), TimeUnit.NANOSECONDS));
    } catch (Throwable refused) { // a program's own scheduler, or one that was disposed of
      Exceptions.throwIfJvmFatal(refused);
      LOG.debug("only real time ends the graceful part of the close", refused);
    }
  }

  /** Several threads may close at the same time: the shortest time holds. */
  private synchronized void shorten(long by) {
    if (!ending.hasStarted() || by - closeBy < 0) {
      closeBy = by;
    }
    ending.start();
  }

  /** Gives up what is under way, also of a shutdown that has started: peers see this rank fail. */
  public void abort() {
    ending.abruptly();
    start(Duration.ZERO);
  }

  /**
   * A loop failed for a reason of its own, or is told that this rank may go on no more: aborts, and
   * close() tells why.
   */
  void failed(Throwable error) {
    if (ending.cause() == null) {
      ending.because(error);
    }
    abort();
  }

  /** Called by each loop after it freed its lane; the last one closes the core. */
  public void loopEnded() {
    if (loopsLeft.decrementAndGet() > 0) {
      return;
    }
    Throwable failure = null;
    try {
      failure = endOfCore(ending.isAbrupt() ? 0 : millisLeft());
      if (failure == null) {
        failure = ending.cause();
      }
      if (!stillborn) { // whoever was not told of its start is not told of its end
        observe.run();
      }
    } catch (Throwable fatal) {
      failure = fatal;
      throw fatal;
    } finally {
      ending.because(failure);
      tellOver(failure);
    }
  }

  /**
   * At least one: the loops have sent everything, and with no time the core would tell a failure.
   */
  private int millisLeft() {
    long left = TimeUnit.NANOSECONDS.toMillis(closeBy - System.nanoTime());
    return (int) Math.max(1, Math.min(left, Integer.MAX_VALUE));
  }

  private @Nullable Throwable endOfCore(int timeoutMillis) {
    try {
      return closeCore.apply(timeoutMillis);
    } catch (RuntimeException thrown) {
      return thrown;
    }
  }

  /** Lets {@link #close} return, and ends {@link #onClose()}. */
  private void tellOver(@Nullable Throwable failure) {
    over.countDown();
    if (failure == null) {
      closed.tryEmitEmpty();
    } else {
      closed.tryEmitError(failure);
    }
    try {
      TimerStop.now(limits);
    } catch (RuntimeException thrown) { // a program's own scheduler; all have been told
      LOG.warn("the limit of the close could not be taken from the timer", thrown);
    }
  }

  /** Starts and waits for the end; fails with what failed. */
  public void close(Duration limit) {
    for (EventLoop loop : loops) {
      if (loop.inSignal()) {
        throw new IllegalStateException(
            "close() would wait for the thread it is called on, " + loop + "; use dispose()");
      }
    }
    start(limit);
    awaitOver(System.nanoTime() + Nanos.of(limit) + STUCK_AFTER_NANOS);
    Throwable failure = ending.cause();
    if (failure != null) {
      throw Exceptions.propagate(failure);
    }
  }

  /**
   * Some loops cannot start: ends all of them, the ones that run on their threads, and after them
   * the core. Returns when that is done.
   *
   * @return what failed meanwhile, or null
   */
  @Nullable Throwable abandon(List<EventLoop> unstarted) {
    stillborn = true;
    abort();
    unstarted.forEach(EventLoop::finish);
    try {
      awaitOver(System.nanoTime() + STUCK_AFTER_NANOS);
    } catch (LciException stuck) { // it must not hide why they cannot start
      return stuck;
    }
    return ending.cause();
  }

  private void awaitOver(long deadline) {
    boolean interrupted = false;
    while (!isOver()) {
      if (System.nanoTime() - deadline >= 0) {
        throw new LciException(
            Detail.of("close", "error_timeout", "still running: " + stuckLoops()));
      }
      try {
        if (invoker) {
          driveOwnLoops();
        } else {
          over.await(Math.max(1, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
        }
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Drives the invoker loops that are this thread's or nobody's. */
  private void driveOwnLoops() throws InterruptedException {
    int work = 0;
    for (EventLoop loop : loops) {
      Thread owner = loop.thread();
      if (!loop.isDisposed()
          && (owner == null || owner == Thread.currentThread() || !owner.isAlive())) {
        work += loop.poll();
      }
    }
    if (work == 0 && over.await(1, TimeUnit.MILLISECONDS)) {
      LOG.debug("closed by another thread");
    }
  }

  private String stuckLoops() {
    StringBuilder text = new StringBuilder();
    for (EventLoop loop : loops) {
      Thread thread = loop.thread();
      if (thread != null && isAtWork(loop, thread)) {
        text.append(loop).append(" in");
        for (StackTraceElement frame : thread.getStackTrace()) {
          text.append(' ').append(frame);
          if (text.length() > 1000) {
            break;
          }
        }
        text.append("; ");
      }
    }
    return text.toString();
  }

  /** A dedicated thread outlives its loop while it closes the core and tells the observer. */
  private boolean isAtWork(EventLoop loop, Thread thread) {
    return !loop.isDisposed() || (!invoker && thread.isAlive());
  }
}
