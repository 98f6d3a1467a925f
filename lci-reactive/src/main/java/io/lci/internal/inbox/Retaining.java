/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.inbox;

import io.lci.am.MessageView;
import io.lci.am.RetainedMessage;
import io.lci.error.LciException;
import io.lci.error.LciException.Detail;
import io.lci.error.ResourceExhaustedException;
import io.lci.internal.lane.PooledBuffer;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Hands on messages that stay where they are until they are released, a number at a time. */
final class Retaining extends Intake<RetainedMessage> {
  private final Delivery delivery;

  Retaining(Delivery delivery) {
    this.delivery = delivery;
  }

  @Override
  boolean isFusable() {
    return true;
  }

  @Override
  boolean keepsMessages() {
    return true;
  }

  @Override
  long allowance(InboxTap<RetainedMessage> tap) {
    return Math.min(tap.demand, delivery.retainedLeft());
  }

  @Override
  @Nullable RetainedMessage take(InboxTap<RetainedMessage> tap, MessageView view) {
    Lease lease;
    try {
      lease = delivery.home().leases.lend(delivery, view);
    } catch (PooledBuffer.NoMemory e) {
      delivery.pause(tap);
      delivery.keepAgain(List.of(view.copy())); // the next subscriber may have memory
      tap.fail(noMemory(view, e));
      return null;
    }
    delivery.retain();
    return lease;
  }

  private LciException noMemory(MessageView view, PooledBuffer.NoMemory cause) {
    LciException failure =
        new ResourceExhaustedException(
            new Detail(
                "lend a message",
                view.rank(),
                delivery.port().number(),
                delivery.loop().firstDevice(),
                "error_no_memory",
                String.valueOf(cause.getMessage())));
    failure.initCause(cause);
    return failure;
  }
}
