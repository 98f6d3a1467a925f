/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.runtime;

import io.lci.LciRuntime;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.session.Sessions;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** The streams and functions of a runtime, on loop 0: opened when they are first asked for. */
final class LazySessions {
  private final LciRuntime runtime;
  private final EventLoop loop;
  private final AtomicReference<@Nullable Sessions> sessions = new AtomicReference<>();

  LazySessions(LciRuntime runtime, EventLoop loop) {
    this.runtime = runtime;
    this.loop = loop;
  }

  /**
   * Opens them at the first call. No lock: opening waits for the loop, which may call this, too.
   */
  Sessions get() {
    Sessions found = sessions.get();
    if (found != null) {
      return found;
    }
    loop.core().ending.refuse("open streams");
    Sessions made = new Sessions(runtime, new LoopHome(loop));
    if (!sessions.compareAndSet(null, made)) {
      return get();
    }
    try {
      made.open();
    } catch (RuntimeException e) {
      sessions.set(null);
      throw e;
    }
    return made;
  }

  /** Adds what they counted, if they are open. */
  void count(Map<String, Long> into) {
    Sessions.count(sessions.get(), into);
  }
}
