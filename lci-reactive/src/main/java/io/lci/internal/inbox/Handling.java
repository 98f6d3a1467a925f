/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.inbox;

import io.lci.am.MessageHandler;
import io.lci.am.MessageView;
import io.lci.am.Port;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.HandlerFaults;
import org.jspecify.annotations.Nullable;

/** Gives each message to a handler. */
final class Handling extends Intake<Object> {
  private final MessageHandler handler;
  private final HandlerFaults faults;

  Handling(EventLoop loop, Port port, MessageHandler handler) {
    this.handler = handler;
    this.faults = new HandlerFaults(loop, "the handler of " + port, "messages");
  }

  @Override
  @Nullable Object take(InboxTap<Object> tap, MessageView view) {
    try {
      handler.onMessage(view);
    } catch (Throwable e) {
      faults.thrown(e);
    }
    return null;
  }

  @Override
  String name() {
    return "a handler";
  }
}
