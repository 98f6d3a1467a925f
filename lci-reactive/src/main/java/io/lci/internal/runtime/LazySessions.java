/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.runtime;

import io.lci.LciRuntime;
import io.lci.am.Inbox;
import io.lci.error.LciClosedException;
import io.lci.internal.inbox.InboxImpl;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.LoopTask;
import io.lci.internal.session.Home;
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
    Sessions made = new Sessions(runtime, home(loop));
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

  private static Home home(EventLoop loop) {
    return new Home() {
      @Override
      public boolean inLoop() {
        return loop.inLoop();
      }

      @Override
      public void execute(Runnable task, Runnable rejected) {
        loop.execute(
            new LoopTask() {
              @Override
              public void run() {
                task.run();
              }

              @Override
              public void rejected() {
                rejected.run();
              }
            });
      }

      @Override
      public LciClosedException closed(String operation) {
        return loop.closed(operation);
      }

      @Override
      public void refuseClosed(String operation) {
        loop.core().ending.refuse(operation);
      }

      @Override
      public void countUncaught() {
        loop.countUncaught();
      }

      @Override
      public int leftBehind(Inbox inbox) {
        return ((InboxImpl) inbox).leftBehind();
      }
    };
  }
}
