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
import reactor.core.CoreSubscriber;

/** Lends messages, a number of them at a time. */
final class RetainingTap extends FusingTap<RetainedMessage> {
  RetainingTap(InboxImpl inbox, CoreSubscriber<? super RetainedMessage> actual) {
    super(inbox, actual);
  }

  @Override
  boolean keepsMessages() {
    return true;
  }

  @Override
  long allowance() {
    return Math.min(demand, inbox.retainedLeft());
  }

  @Override
  @Nullable RetainedMessage take(MessageView view) {
    Lease lease;
    try {
      lease = inbox.home().leases.lend(inbox, view);
    } catch (PooledBuffer.NoMemory e) {
      inbox.pause(this);
      inbox.keepAgain(List.of(view.copy())); // the next subscriber may have memory
      fail(noMemory(view, e));
      return null;
    }
    inbox.retain();
    return lease;
  }

  private LciException noMemory(MessageView view, PooledBuffer.NoMemory cause) {
    LciException failure =
        new ResourceExhaustedException(
            new Detail(
                "lend a message",
                view.rank(),
                inbox.port().number(),
                loop.firstDevice(),
                "error_no_memory",
                String.valueOf(cause.getMessage())));
    failure.initCause(cause);
    return failure;
  }
}
