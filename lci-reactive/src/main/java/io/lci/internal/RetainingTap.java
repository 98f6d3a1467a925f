/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.am.MessageView;
import io.lci.am.RetainedMessage;
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
  RetainedMessage take(MessageView view) {
    inbox.retain();
    return loop.leases().lend(inbox, view);
  }
}
