/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.Op;
import io.lci.internal.lane.Posted;
import io.lci.internal.loop.Drainable;
import io.lci.internal.loop.EventLoop;
import org.jspecify.annotations.Nullable;

/**
 * What a loop tells the core beside operations: a descriptor without payload, answered at once, of
 * which no subscriber hears. Loop only.
 */
public abstract class Notice extends Drainable implements Submitter {
  protected final Outbox outbox;
  public final EventLoop loop;

  public Notice(Outbox outbox) {
    this.outbox = outbox;
    this.loop = outbox.loop;
  }

  /** Goes out with the next crossing, behind what waits in the destination of that kind. */
  protected final void submit(Object item, int kind) {
    submit(item, outbox.destinations.get(kind, 0, 0, 0));
  }

  protected final void submit(Object item, Destination destination) {
    outbox.submit(this, item, destination);
  }

  @Override
  public final Op.@Nullable Kind kind() {
    return null;
  }

  @Override
  public final int sizeHint(Object item) {
    return 0;
  }

  @Override
  public final Posted posted(Object item) {
    throw new IllegalStateException("a notice is answered at once");
  }

  @Override
  public final void accepted(Object item, Destination destination, int code, int slot) {}

  @Override
  public void failed(Object item, Destination destination, RuntimeException reason) {
    if (!loop.isClosing()) {
      loop.uncaught(reason);
    }
  }

  @Override
  public boolean wants(Object item) {
    return true;
  }

  @Override
  public final void parked(Object item, Destination destination, int node, int code) {}

  @Override
  public void dropped(Object item, int code) {}

  @Override
  public final Drainable drainable() {
    return this;
  }
}
