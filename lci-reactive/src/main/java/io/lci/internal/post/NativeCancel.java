/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.error.LciException;
import io.lci.internal.lane.PostWriter;
import io.lci.nativebridge.Codes;

/**
 * Cancels an unmatched receive. Whether it was matched meanwhile is told by the receive's own
 * completion.
 */
final class NativeCancel extends Notice {
  private static final String TOO_LATE = "error_not_pending";

  private final long context;
  private final Destination receive;
  private boolean again = true;

  NativeCancel(Outbox outbox, long context, Destination receive) {
    super(outbox);
    this.receive = receive;
    this.context = context;
  }

  @Override
  public void encode(Object item, PostWriter out) {
    out.op = Codes.OP_CANCEL;
    out.tag(context);
  }

  @Override
  public boolean wants(Object item) {
    return false;
  }

  @Override
  public void dropped(Object item, int code) {
    again = true;
  }

  @Override
  public void failed(Object item, Destination destination, RuntimeException reason) {
    if (!isTooLate(reason)) {
      super.failed(item, destination, reason);
    }
  }

  /** Matched meanwhile. */
  private static boolean isTooLate(RuntimeException reason) {
    return reason instanceof LciException error && error.code().equals(TOO_LATE);
  }

  @Override
  public void drain() {
    if (again && !loop.isClosing()) {
      again = false;
      // It is found on its own device, in its own engine
      submit(this, outbox.destinations.get(Destination.CANCEL, receive.device, 0, receive.port));
    }
  }
}
