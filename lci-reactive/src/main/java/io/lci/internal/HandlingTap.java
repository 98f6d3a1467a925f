/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.am.MessageHandler;
import io.lci.am.MessageView;
import reactor.core.Disposable;
import reactor.core.Exceptions;

/** Gives each message to a handler. */
final class HandlingTap extends InboxTap<Object> implements Disposable {
  private final MessageHandler handler;

  HandlingTap(InboxImpl inbox, MessageHandler handler) {
    super(inbox, new IgnoringSubscriber(inbox.port() + " handler"));
    this.handler = handler;
  }

  @Override
  void message(MessageView view) {
    try {
      handler.onMessage(view);
    } catch (Throwable e) {
      Exceptions.throwIfJvmFatal(e);
      loop.uncaught(e);
    }
  }

  @Override
  String subscriber() {
    return "a handler";
  }

  @Override
  public void dispose() {
    cancel();
  }

  @Override
  public boolean isDisposed() {
    return isOver();
  }
}
