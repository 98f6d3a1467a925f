/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.inbox;

import io.lci.internal.lane.Dispatcher;
import io.lci.internal.lane.Lane;
import io.lci.internal.loop.EventLoop;

/** What the inboxes of a loop receive by. */
public final class InboxLoop {
  final EventLoop loop;
  final Lane lane;
  final Dispatcher dispatcher;
  public final Leases leases;

  public InboxLoop(Dispatcher dispatcher, Leases leases) {
    this.loop = dispatcher.loop;
    this.lane = dispatcher.lane;
    this.dispatcher = dispatcher;
    this.leases = leases;
  }
}
