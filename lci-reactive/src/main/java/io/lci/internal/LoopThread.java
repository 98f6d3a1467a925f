/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import reactor.core.scheduler.NonBlocking;

/** The thread of a dedicated loop: Reactor refuses blocking calls on it. */
final class LoopThread extends Thread implements NonBlocking {
  private final EventLoop loop;

  LoopThread(EventLoop loop) {
    super("lci-loop-" + loop.index());
    this.loop = loop;
    setDaemon(true);
  }

  @Override
  public void run() {
    loop.runDedicated();
  }
}
