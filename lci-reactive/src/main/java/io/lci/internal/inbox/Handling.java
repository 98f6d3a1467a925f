/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.inbox;

import io.lci.LciRuntime;
import io.lci.am.MessageHandler;
import io.lci.am.MessageView;
import io.lci.am.Port;
import io.lci.internal.core.Thrown;
import io.lci.internal.loop.EventLoop;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.Exceptions;

/** Gives each message to a handler. */
final class Handling extends Intake<Object> {
  private static final Logger LOG = LoggerFactory.getLogger(LciRuntime.class);

  /** Failures that are logged with their stack traces; later ones show in a line now and then. */
  private static final int TRACES = 8;

  private final EventLoop loop;
  private final Port port;
  private final MessageHandler handler;
  private long failures; // loop only

  Handling(EventLoop loop, Port port, MessageHandler handler) {
    this.loop = loop;
    this.port = port;
    this.handler = handler;
  }

  @Override
  @Nullable Object take(InboxTap<Object> tap, MessageView view) {
    try {
      handler.onMessage(view);
    } catch (Throwable e) {
      Exceptions.throwIfJvmFatal(e);
      failed(e);
    }
    return null;
  }

  /** A handler that fails at one message may fail at each, a million times in a second. */
  private void failed(Throwable e) {
    failures++;
    if (failures <= TRACES) {
      loop.uncaught(e);
      return;
    }
    loop.countUncaught();
    if (Long.bitCount(failures) == 1) {
      String text = Thrown.text(e);
      LOG.error(
          "{}: the handler of {} failed at {} messages, the last time with {}; the first {} failures"
              + " were logged with their stack traces",
          loop,
          port,
          failures,
          text,
          TRACES);
    }
  }

  @Override
  String name() {
    return "a handler";
  }
}
