/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import io.lci.LciRuntime;
import io.lci.internal.core.Thrown;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.Exceptions;

/**
 * Logs and counts the exceptions of handlers. A handler that fails once may fail at each call, a
 * million times in a second. Loop only.
 */
public final class HandlerFaults {
  private static final Logger LOG = LoggerFactory.getLogger(LciRuntime.class);

  /** Failures that are logged with their stack traces; later ones show in a line now and then. */
  private static final int TRACES = 8;

  private final EventLoop loop;

  /** The words of the line that name what failed: "the handler of a port failed at". */
  private final String failed;

  /** The word for its items in that line: messages, completions. */
  private final String items;

  private long failures;

  public HandlerFaults(EventLoop loop, String failed, String items) {
    this.loop = loop;
    this.failed = failed;
    this.items = items;
  }

  /** Throws on what is fatal to the JVM. */
  public void thrown(Throwable e) {
    Exceptions.throwIfJvmFatal(e);
    failures++;
    if (failures <= TRACES) {
      loop.uncaught(e);
      return;
    }
    loop.countUncaught();
    if (Long.bitCount(failures) == 1) {
      String text = Thrown.text(e);
      LOG.error(
          "{}: {} failed at {} {}, the last time with {}; the first {} failures were logged with"
              + " their stack traces",
          loop,
          failed,
          failures,
          items,
          text,
          TRACES);
    }
  }
}
