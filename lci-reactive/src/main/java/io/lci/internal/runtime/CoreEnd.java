/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.runtime;

import io.lci.error.LciException.Detail;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.core.Errors;
import io.lci.internal.loop.TimerStop;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.NativeMemory;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;
import reactor.core.Disposable;
import reactor.core.Exceptions;

/**
 * The end of the core, when no loop is left: the last look at the counters, then the close. Called
 * once, with the milliseconds that are left; returns what failed, or null.
 */
final class CoreEnd implements IntFunction<@Nullable Throwable> {
  private final RuntimeImpl runtime;
  private final Disposable watchdog;

  CoreEnd(RuntimeImpl runtime, Disposable watchdog) {
    this.runtime = runtime;
    this.watchdog = watchdog;
  }

  @Override
  public @Nullable Throwable apply(int timeoutMillis) {
    Throwable thrown = null;
    try {
      TimerStop.now(watchdog);
    } catch (Throwable e) { // the timer may be the user's own
      Exceptions.throwIfJvmFatal(e);
      thrown = e;
    }
    CoreRuntime core = runtime.core;
    int code =
        core.gate.close(
            () -> {
              runtime.snapshots.takeLast();
              return core.calls.runtimeClose(core.handle, timeoutMillis);
            });
    runtime.regions.closed();
    runtime.log.close();
    return Codes.isError(code)
        ? Errors.of(
            Detail.of(
                "close",
                Errors.name(core.calls, code),
                NativeMemory.string(core.calls.lastError())),
            code)
        : thrown;
  }
}
