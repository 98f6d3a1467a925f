/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.inbox;

import io.lci.am.MessageView;
import io.lci.internal.loop.LoopSubscription;
import reactor.core.CoreSubscriber;

/** A subscription of an inbox. Loop only. */
abstract class InboxTap<T> extends LoopSubscription<T> {
  final InboxImpl inbox;

  InboxTap(InboxImpl inbox, CoreSubscriber<? super T> actual) {
    super(inbox.loop(), actual);
    this.inbox = inbox;
  }

  /** How many messages it can take now. */
  long allowance() {
    return demand;
  }

  /** Whether messages are to stay where they lie until they are released. */
  boolean keepsMessages() {
    return false;
  }

  /** Takes one message; there is demand. */
  abstract void message(MessageView view);

  /** Nothing more is there for now: hands on what it has collected. */
  void settle() {}

  @Override
  public void drain() {
    if (!isOver()) {
      inbox.serve(this);
    }
  }

  @Override
  public void onCancel() {
    inbox.left(this);
  }
}
