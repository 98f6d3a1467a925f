/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.am.MessageView;
import io.lci.am.RetainedMessage;
import reactor.core.CoreSubscriber;

/** Lends messages, a number of them at a time. */
final class RetainingTap extends InboxTap<RetainedMessage> {
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
  void message(MessageView view) {
    inbox.retain();
    emit(loop.leases().lend(inbox, view));
  }
}
