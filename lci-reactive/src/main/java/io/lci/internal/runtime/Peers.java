/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.runtime;

import io.lci.LciRuntime;
import io.lci.PeerEvent;
import io.lci.am.Port;
import io.lci.error.LciException;
import io.lci.error.LciException.Detail;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.core.Errors;
import io.lci.internal.core.ReservedPorts;
import io.lci.internal.inbox.Inboxes;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.PerLoop;
import io.lci.internal.post.Outbox;
import io.lci.nativebridge.Codes;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** The ends of other ranks: what was bound to one fails on every loop, and whoever asks is told. */
public final class Peers {
  private static final Logger LOG = LoggerFactory.getLogger(LciRuntime.class);

  private final CoreRuntime core;
  private final Inboxes inboxes;
  private final PerLoop<Outbox> outboxes;
  private final PeerEvents events;

  Peers(CoreRuntime core, Inboxes inboxes, PerLoop<Outbox> outboxes) {
    this.core = core;
    this.inboxes = inboxes;
    this.outboxes = outboxes;
    this.events = new PeerEvents(outboxes.get(0).loop);
  }

  Flux<PeerEvent> events() {
    return events;
  }

  Mono<PeerEvent> gone(int rank) {
    core.checkRank(rank);
    return events.filter(event -> event.rank() == rank).next();
  }

  /**
   * A PEER record of a loop's lane: the loop has read all that the peer had sent to its devices.
   * Every lane gets one, so no loop fails what another may still hear the end of; the event is told
   * once, by loop 0.
   */
  void changed(EventLoop from, PeerEvent event) {
    int code = event.state() == PeerEvent.State.LEFT ? Codes.ERR_PEER_LEFT : Codes.ERR_PEER_FAILED;
    fail(outboxes.get(from.index()), event.rank(), code);
    if (from.index() != 0) {
      return;
    }
    log(event);
    events.add(event);
    core.observer.tell(observer -> observer.peerChanged(event));
  }

  private static void fail(Outbox outbox, int rank, int code) {
    outbox.failParked(rank, code);
    outbox.slots.abandon(
        rank,
        owner ->
            Errors.of(
                new Detail(
                    "posted operation",
                    rank,
                    LciException.NONE,
                    outbox.lane.firstDevice(),
                    Errors.name(outbox.core.calls, code),
                    Errors.hint(code)),
                code));
  }

  /** A departure is news only to those who may wait for that rank's messages. */
  private void log(PeerEvent event) {
    List<Port> waiting =
        inboxes.awaited().stream().filter(port -> !ReservedPorts.has(port)).toList();
    String still = waiting.isEmpty() ? "" : "; still waiting for messages: " + waiting;
    if (event.state() == PeerEvent.State.FAILED) {
      LOG.warn("rank {}: rank {} died{}", core.rank, event.rank(), still);
    } else if (!waiting.isEmpty() && !core.ending.hasStarted()) {
      LOG.info("rank {}: rank {} left the job{}", core.rank, event.rank(), still);
    } else {
      LOG.debug("rank {}: rank {} left the job", core.rank, event.rank());
    }
  }

  /** The loop is about to end: no events come after that of loop 0. */
  void loopEnding(EventLoop loop) {
    if (loop.index() == 0) {
      events.complete();
    }
  }
}
