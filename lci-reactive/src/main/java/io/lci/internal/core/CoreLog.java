/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.core;

import io.lci.nativebridge.Codes;
import io.lci.nativebridge.NativeCalls;
import io.lci.nativebridge.NativeMemory;
import io.lci.nativebridge.NativeScratch;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * The core's log, which the core keeps and calls nobody with: its lines go to the logger {@value
 * #NAME}, each at its own level. It outlives the runtime, so that what closing writes is told too.
 * Any thread.
 */
public final class CoreLog {
  public static final String NAME = "io.lci.core";
  private static final Logger LOG = LoggerFactory.getLogger(NAME);

  /** No line of the core is longer. */
  private static final int LONGEST_LINE = 1024;

  private final NativeCalls calls;
  private final NativeScratch out = new NativeScratch(1 + LONGEST_LINE / Long.BYTES);
  private long handle; // 0 when there is none

  /**
   * A reference to the log of a runtime.
   *
   * @param runtime its handle
   */
  public CoreLog(NativeCalls calls, long runtime) {
    this.calls = calls;
    Errors.check(calls, calls.runtimeLog(runtime, out.address(0)), "get log", -1);
    handle = out.getLong(0);
  }

  /** Passes on what the core has written since. */
  public synchronized void passOn() {
    while (handle != 0 && take()) {
      LOG.atLevel(level(out.getInt(0))).log(NativeMemory.string(out.address(1)));
    }
  }

  private boolean take() {
    return Codes.isDone(calls.logTake(handle, out.address(0), out.address(1), LONGEST_LINE));
  }

  /** Passes on the last lines. To be called when the runtime is closed. */
  public synchronized void close() {
    passOn();
    calls.logFree(handle);
    handle = 0;
  }

  private static Level level(int core) {
    return switch (core) {
      case Codes.LOG_ERROR -> Level.ERROR;
      case Codes.LOG_WARN -> Level.WARN;
      case Codes.LOG_STATUS, Codes.LOG_INFO -> Level.INFO;
      case Codes.LOG_DEBUG -> Level.DEBUG;
      default -> Level.TRACE;
    };
  }
}
