/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.inbox;

import io.lci.LciSnapshot;
import io.lci.am.Inbox;

/** An open port of the runtime: whole, or in parts. */
interface OpenInbox extends Inbox {
  /** Whether somebody waits for its messages. Any thread. */
  boolean hasSubscriber();

  LciSnapshot.InboxState state();
}
