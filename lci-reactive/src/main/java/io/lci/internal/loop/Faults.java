/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import io.lci.LciRuntime;
import io.lci.internal.core.Thrown;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.Exceptions;

/** What user code throws at a loop where nobody can be told: logged and counted. Any thread. */
final class Faults {
  private static final Logger LOG = LoggerFactory.getLogger(LciRuntime.class);

  private final EventLoop loop;
  private final AtomicLong count = new AtomicLong();

  Faults(EventLoop loop) {
    this.loop = loop;
  }

  long count() {
    return count.get();
  }

  void uncaught(Throwable error) {
    countOne();
    Thrown.log(error, e -> LOG.error("{}: uncaught in user code or native call", loop, e));
  }

  /** The same, where it was logged. */
  void countOne() {
    count.incrementAndGet();
  }

  /** As {@link #uncaught}; what is fatal to the JVM ends the loop, unless it is ending already. */
  void thrown(Throwable error) {
    if (!loop.isFinishing()) {
      Exceptions.throwIfJvmFatal(error);
    }
    uncaught(error);
  }

  /** Runs what may throw by a user's fault; what follows goes on. */
  void guarded(Runnable step) {
    try {
      step.run();
    } catch (Throwable e) {
      thrown(e);
    }
  }
}
