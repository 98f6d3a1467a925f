/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.completion.Completion;
import io.lci.completion.CompletionHandler;
import io.lci.internal.loop.Drainable;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.HandlerFaults;
import java.util.ArrayDeque;

/** Calls the handlers of operations that have ended, outside all other signals. Loop only. */
final class HandlerCalls extends Drainable {
  private record Due(CompletionHandler handler, Completion completion) {}

  private final EventLoop loop;
  private final HandlerFaults faults;
  private final ArrayDeque<Due> due = new ArrayDeque<>();

  HandlerCalls(EventLoop loop) {
    this.loop = loop;
    this.faults = new HandlerFaults(loop, "the handlers of completions", "completions");
  }

  void add(CompletionHandler handler, Completion completion) {
    due.add(new Due(handler, completion));
    loop.markReady(this);
  }

  /** Those that are there: what ends meanwhile comes in the next drain. */
  @Override
  protected void drain() {
    for (int left = due.size(); left > 0; left--) {
      Due next = due.remove();
      try {
        next.handler.onCompletion(next.completion);
      } catch (Throwable e) {
        faults.thrown(e);
      }
    }
  }
}
