/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.groupstream;

import io.lci.LciRuntime;
import io.lci.PeerEvent;
import io.lci.am.Inbox;
import io.lci.am.InboxOptions;
import io.lci.am.MessageView;
import io.lci.collective.GroupStreams;
import io.lci.internal.collective.StreamMembers;
import io.lci.internal.collective.StreamRoom;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.core.ReservedPorts;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.PerLoop;
import io.lci.internal.post.Outbox;
import io.lci.internal.session.Departures;
import io.lci.internal.session.Home;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The streams of the groups of a runtime. Their port has a part on each loop, and a frame names its
 * device, so that it comes to the loop of its stream. Opened when they are first asked for. Any
 * thread.
 */
public final class GroupStreamRoom implements StreamRoom {
  private static final Logger LOG = LoggerFactory.getLogger(LciRuntime.class);

  private final LciRuntime runtime;
  private final CoreRuntime core;
  private final PerLoop<Outbox> outboxes;
  private final Function<EventLoop, Home> homes;
  private final Map<EventLoop, Hub> hubs = new ConcurrentHashMap<>();
  private final AtomicBoolean opened = new AtomicBoolean();
  private final AtomicReferenceArray<PeerEvent> lost;
  private final AtomicIntegerArray lostParts;

  public GroupStreamRoom(
      LciRuntime runtime,
      CoreRuntime core,
      PerLoop<Outbox> outboxes,
      Function<EventLoop, Home> homes) {
    this.runtime = runtime;
    this.core = core;
    this.outboxes = outboxes;
    this.homes = homes;
    this.lost = new AtomicReferenceArray<>(core.size);
    this.lostParts = new AtomicIntegerArray(core.size);
  }

  @Override
  public GroupStreams of(StreamMembers members) {
    core.ending.refuse("open streams");
    open();
    return new GroupStreamsImpl(hub(outboxes.of(members.device()).loop), members);
  }

  private Hub hub(EventLoop loop) {
    return hubs.computeIfAbsent(loop, home -> new Hub(home, lost::get));
  }

  @Override
  public void forget(StreamMembers members) {
    Hub hub = hubs.get(outboxes.of(members.device()).loop);
    if (hub != null) {
      hub.loop.execute(() -> hub.forget(members.id()));
    }
  }

  @Override
  public void revoked(StreamMembers members, int rank, String why) {
    Hub hub = hub(outboxes.of(members.device()).loop);
    hub.loop.execute(() -> hub.revoked(members, StreamCause.revoked(rank, why)));
  }

  /** No lock: opening waits for the loops, which may call this, too. */
  private void open() {
    if (!opened.compareAndSet(false, true)) {
      return;
    }
    try {
      int count = Math.min(outboxes.all().size(), InboxOptions.MAX_PARTITIONS);
      Inbox whole =
          runtime.inbox(ReservedPorts.GROUPS, InboxOptions.builder().partitions(count).build());
      List<Inbox> parts = whole.partitions();
      List<Part> all = new java.util.ArrayList<>();
      for (int i = 0; i < count; i++) {
        all.add(new Part(outboxes.get(i).loop, parts.get(i), count));
      }
      runtime.peerEvents().subscribe(event -> all.forEach(part -> part.peerChanged(event)));
    } catch (RuntimeException e) {
      opened.set(false);
      throw e;
    }
  }

  /** A part of the port, on its loop. */
  private final class Part {
    private final EventLoop loop;
    private final Home home;
    private final Departures departures;

    Part(EventLoop loop, Inbox inbox, int parts) {
      this.loop = loop;
      this.home = homes.apply(loop);
      this.departures = new Departures(home, core.size, event -> lose(event, parts));
      home.execute(() -> departures.inbox(inbox), () -> {});
      inbox
          .receive(
              view -> {
                message(view);
                return Boolean.TRUE;
              })
          .subscribe(taken -> {}, error -> {}, () -> {});
    }

    void peerChanged(PeerEvent event) {
      home.execute(() -> departures.peerChanged(event), () -> {});
    }

    private void message(MessageView view) {
      try {
        route((int) view.tag(), new InFrame(view.copy()));
      } catch (RuntimeException e) {
        LOG.warn("rank {}: rank {} sent what makes no sense", core.rank, view.rank(), e);
      }
      departures.lookedAt();
    }

    private void route(int device, InFrame frame) {
      Hub hub = hub(outboxes.of(device).loop);
      if (hub.loop == loop) {
        hub.take(frame);
      } else {
        hub.loop.execute(() -> hub.take(frame));
      }
    }
  }

  /** Nothing comes of a peer any more by one part; all that came was handed on. */
  private void lose(PeerEvent event, int parts) {
    if (lostParts.incrementAndGet(event.rank()) == parts) {
      lost.set(event.rank(), event);
      hubs.values().forEach(hub -> hub.loop.execute(() -> hub.lose(event)));
    }
  }
}
