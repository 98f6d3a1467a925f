/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import reactor.core.scheduler.NonBlocking;

/** The thread of a dedicated loop: Reactor refuses blocking calls on it. */
public final class LoopThread extends Thread implements NonBlocking {
  private final EventLoop loop;

  public LoopThread(EventLoop loop) {
    super("lci-loop-" + loop.index());
    this.loop = loop;
    setDaemon(true);
  }

  @Override
  public void run() {
    loop.runDedicated();
  }
}
