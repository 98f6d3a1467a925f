/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.internal.loop.Drainable;
import io.lci.internal.loop.EventLoop;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.Executor;

/**
 * Lets the calls of a context begin in the order in which they came, and holds them while a call of
 * several parts may still make some: all members give the parts the same numbers then. Loop only.
 */
final class Turnstile extends Drainable implements Executor {
  private final EventLoop loop;
  private final Deque<Runnable> held = new ArrayDeque<>();
  private boolean closed;

  Turnstile(EventLoop loop) {
    this.loop = loop;
  }

  /** Begins a call, now or later. */
  @Override
  public void execute(Runnable call) {
    if (closed || !held.isEmpty()) {
      held.add(call);
    } else {
      call.run();
    }
  }

  void close() {
    closed = true;
  }

  /** Behind the parts that were made before. */
  void open() {
    loop.markReady(this);
  }

  @Override
  protected void drain() {
    closed = false;
    while (!closed && !held.isEmpty()) {
      held.remove().run();
    }
  }
}
