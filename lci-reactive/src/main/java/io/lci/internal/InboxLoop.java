/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

/** What the inboxes of a loop receive by. */
final class InboxLoop {
  final EventLoop loop;
  final Lane lane;
  final Dispatcher dispatcher;
  final Leases leases;

  InboxLoop(Dispatcher dispatcher, Leases leases) {
    this.loop = dispatcher.loop;
    this.lane = dispatcher.lane;
    this.dispatcher = dispatcher;
    this.leases = leases;
  }
}
