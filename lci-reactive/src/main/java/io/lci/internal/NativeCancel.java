/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.nativebridge.Codes;

/**
 * Cancels an unmatched receive. Whether it was matched meanwhile is told by the receive's own
 * completion.
 */
final class NativeCancel extends Drainable implements Submitter {
  private final EventLoop loop;
  private final long context;
  private boolean again = true;

  NativeCancel(EventLoop loop, long context) {
    this.loop = loop;
    this.context = context;
  }

  private void submit() {
    Outbox outbox = loop.outbox();
    outbox.submit(this, this, outbox.destinations.get(Destination.CANCEL, 0, 0));
  }

  @Override
  public int sizeHint(Object item) {
    return 0;
  }

  @Override
  public void encode(Object item, PostWriter out) {
    out.op = Codes.OP_CANCEL;
    out.tag(context);
  }

  @Override
  public Posted posted(Object item) {
    throw new IllegalStateException("a cancel is never posted");
  }

  @Override
  public void accepted(Object item, Destination destination, int code, int slot) {}

  @Override
  public void failed(Object item, Destination destination, RuntimeException reason) {
    if (!loop.isClosing()) {
      loop.uncaught(reason);
    }
  }

  @Override
  public boolean wants(Object item) {
    return false;
  }

  @Override
  public void parked(Object item, Destination destination, int node, int code) {}

  @Override
  public void dropped(Object item, int code) {
    again = code != Codes.RETRY; // that one means: matched meanwhile
  }

  @Override
  public Drainable drainable() {
    return this;
  }

  @Override
  void drain() {
    if (again && !loop.isClosing()) {
      again = false;
      submit();
    }
  }
}
