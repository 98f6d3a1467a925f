/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.runtime;

import io.lci.am.Inbox;
import io.lci.error.LciClosedException;
import io.lci.internal.inbox.InboxImpl;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.LoopTask;
import io.lci.internal.session.Home;

/** A loop, as what lives on it sees it. */
record LoopHome(EventLoop loop) implements Home {
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
}
