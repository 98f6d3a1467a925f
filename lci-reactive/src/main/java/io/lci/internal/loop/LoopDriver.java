/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import io.lci.LciRuntime;
import io.lci.internal.core.Nanos;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.publisher.Mono;

/**
 * Has a loop take turn after turn, and rest when there is nothing to do: for good, on the thread of
 * a dedicated loop, or as long as the call of an invoker lasts.
 */
final class LoopDriver {
  private static final Logger LOG = LoggerFactory.getLogger(LciRuntime.class);

  private final EventLoop loop;
  private final LoopOwner owner;
  private final Idler idler;
  private final LoopTime time;

  LoopDriver(EventLoop loop, LoopOwner owner, Idler idler, LoopTime time) {
    this.loop = loop;
    this.owner = owner;
    this.idler = idler;
    this.time = time;
  }

  /** The body of a dedicated loop's thread. */
  void runDedicated() {
    bind();
    while (!loop.isDisposed()) {
      try {
        if (loop.turn() > 0) {
          idler.worked();
        } else if (!loop.isDisposed()) {
          idler.idle(Long.MAX_VALUE);
        }
      } catch (Throwable e) { // fatal or not: whoever waits for this loop must hear of its end
        crash(e);
      }
    }
  }

  private void bind() {
    List<Integer> affinity = loop.core().options.affinity();
    try {
      if (loop.index() < affinity.size()) { // loops that were added have no offset
        Affinity.bind(loop, loop.core().calls, affinity.get(loop.index()));
      }
    } catch (Throwable e) { // as in a turn
      crash(e);
    }
  }

  private void crash(Throwable error) {
    try {
      LOG.error("{}: the loop failed and the runtime is closing", loop, error);
    } finally { // the log may fail, too, for want of memory
      loop.host().loopFailed(error);
      if (!loop.isDisposed()) {
        loop.finish();
      }
    }
  }

  // Invoker

  int poll(Duration limit) {
    claim();
    long deadline = System.nanoTime() + Nanos.of(limit);
    while (!loop.isDisposed()) {
      int work = turnOrCrash();
      long after = System.nanoTime();
      if (work > 0) {
        time.end(after);
        idler.worked();
        return work;
      }
      long left = deadline - after;
      if (left <= 0) {
        time.end(after);
        loop.enterSoon(); // some of what a park would notice shows only in an enter
        return 0;
      }
      rest(left);
    }
    return 0;
  }

  <T> @Nullable T await(Mono<T> mono, Duration limit) {
    claim();
    AwaitSubscriber<T> result = new AwaitSubscriber<>(loop);
    mono.subscribe(result);
    try {
      drive(result, limit);
    } finally {
      if (!result.isDone()) {
        result.cancel();
      }
    }
    return result.get();
  }

  private void drive(AwaitSubscriber<?> result, Duration limit) {
    long deadline = System.nanoTime() + Nanos.of(limit);
    while (!result.isDone()) {
      if (loop.isDisposed()) {
        throw loop.closed("await");
      }
      if (turnOrCrash() > 0) {
        idler.worked();
        continue;
      }
      long left = deadline - System.nanoTime();
      if (left <= 0) {
        throw new IllegalStateException("await: nothing came within " + limit);
      }
      rest(left);
    }
  }

  /** A strategy that throws ends this loop, too. */
  private void rest(long nanos) {
    try {
      idler.idle(nanos);
    } catch (Throwable e) {
      crash(e);
      throw e;
    }
  }

  /** What ends a dedicated loop ends this one, too: half a turn leaves nothing as it should be. */
  private int turnOrCrash() {
    try {
      return loop.turn();
    } catch (Throwable e) {
      crash(e);
      throw e;
    }
  }

  private void claim() {
    owner.claim();
    if (loop.isInTurn()) {
      throw new IllegalStateException("poll and await must not be called from a signal of " + loop);
    }
    time.forget();
  }
}
