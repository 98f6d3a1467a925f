/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.inbox;

import io.lci.LciSnapshot;
import io.lci.am.Inbox;
import io.lci.am.InboxOptions;
import io.lci.am.Port;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.LoopTask;
import io.lci.internal.loop.PerLoop;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import reactor.core.scheduler.Schedulers;

/** The inboxes that are open at this rank, by their ports' numbers. Any thread. */
public final class Inboxes {
  private final CoreRuntime core;
  private final PerLoop<InboxLoop> loops;
  private final Map<Integer, OpenInbox> inboxes = new ConcurrentHashMap<>();

  public Inboxes(CoreRuntime core, PerLoop<InboxLoop> loops) {
    this.core = core;
    this.loops = loops;
  }

  /** The inbox of a port, opened if it is not. */
  public Inbox open(Port port, InboxOptions options) {
    Objects.requireNonNull(port, "port");
    core.ending.refuse("open port " + port);
    boolean whole = options.partitions() == 1;
    OpenInbox created =
        whole
            ? new InboxImpl(this, loops.get(options.loop()), port, options)
            : new PartitionedInbox(this, loops, port, options);
    OpenInbox existing = inboxes.putIfAbsent(port.number(), created);
    if (existing == null) {
      List<InboxImpl> parts = parts(created);
      parts.forEach(Inboxes::openOrPost);
      parts.forEach(this::awaitOpen); // all are to be opened, also if one of them cannot be
      return created;
    }
    if (existing.isDisposed()) {
      if (!inboxes.replace(port.number(), existing, created)) {
        return open(port, options); // it went just now
      }
      openBehind(existing, parts(created));
      return created;
    }
    if (!existing.port().equals(port)) {
      throw new IllegalArgumentException(
          "port " + port.number() + " is open as " + existing.port());
    }
    return existing;
  }

  private static List<InboxImpl> parts(OpenInbox inbox) {
    return inbox instanceof PartitionedInbox cut ? cut.parts() : List.of((InboxImpl) inbox);
  }

  private static void openOrPost(InboxImpl inbox) {
    if (inbox.loop().inLoop()) {
      inbox.open();
    } else {
      post(inbox);
    }
  }

  /** The end of the one before may be on its way to its loops, which may be others. */
  private void openBehind(OpenInbox before, List<InboxImpl> parts) {
    before
        .onClose()
        .onErrorComplete() // it did not open
        .subscribe(null, null, () -> parts.forEach(Inboxes::post));
    parts.forEach(this::awaitOpen);
  }

  private static void post(InboxImpl inbox) {
    EventLoop home = inbox.loop();
    home.execute(
        new LoopTask() {
          @Override
          public void run() {
            inbox.open();
          }

          @Override
          public void rejected() {
            inbox.openRejected();
          }
        });
  }

  private void awaitOpen(InboxImpl inbox) {
    if (!core.options.invoker() && !Schedulers.isInNonBlockingThread()) { // else it opens later
      inbox.awaitOpen();
    }
  }

  /** It is closed, or could not be opened. */
  void forget(OpenInbox inbox) {
    inboxes.remove(inbox.port().number(), inbox);
  }

  /** The ports for whose messages somebody waits. */
  public List<Port> awaited() {
    return inboxes.values().stream().filter(OpenInbox::hasSubscriber).map(OpenInbox::port).toList();
  }

  public List<LciSnapshot.InboxState> states() {
    return inboxes.values().stream().map(OpenInbox::state).toList();
  }
}
