/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Lets a loop drain something because other loops saw that it may have to. However often they see
 * it, at most one task of it waits in the loop's queue.
 */
public final class Nudge implements LoopTask {
  private final EventLoop loop;
  private final Drainable nudged;
  private final AtomicBoolean waits = new AtomicBoolean();

  public Nudge(EventLoop loop, Drainable nudged) {
    this.loop = loop;
    this.nudged = nudged;
  }

  /** What the caller has seen is seen by the drain that follows. Any thread. */
  public void give() {
    if (!waits.getAndSet(true)) {
      loop.execute(this);
    }
  }

  @Override
  public void run() {
    waits.getAndSet(false); // before the drain, and behind whoever found it set
    loop.markReady(nudged);
  }
}
