/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.groupstream;

import io.lci.LciRuntime;
import io.lci.internal.core.Nanos;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.TimerStop;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.Disposable;
import reactor.core.Exceptions;
import reactor.util.context.Context;

/** Has a hub look now and then after streams that stand still. Loop only. */
final class StallWatch {
  private static final Logger LOG = LoggerFactory.getLogger(LciRuntime.class);

  private final EventLoop loop;
  private final Runnable look;
  private final Duration every;
  private @Nullable Disposable timer;

  StallWatch(EventLoop loop, Runnable look) {
    this.loop = loop;
    this.look = look;
    this.every = loop.core().options.stallWarning();
  }

  void start() {
    if (timer == null && !every.isZero()) {
      long nanos = Nanos.of(every);
      try {
        timer =
            loop.core()
                .timer()
                .schedulePeriodically(
                    () -> loop.execute(look::run), nanos, nanos, TimeUnit.NANOSECONDS);
      } catch (Throwable e) { // it was disposed, or is the user's own
        Exceptions.throwIfJvmFatal(e);
        LOG.debug("streams that stand still are not reported", e);
      }
    }
  }

  void stop() {
    Disposable running = timer;
    if (running != null) {
      timer = null;
      loop.guarded(() -> TimerStop.of(running, Context.empty()));
    }
  }

  void report(int rank, String stream, String why) {
    LOG.warn("rank {}: {} did not move for {} ms: {}", rank, stream, every.toMillis(), why);
  }
}
