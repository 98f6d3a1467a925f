/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.LciSnapshot;
import io.lci.internal.lane.Lane;
import io.lci.internal.loop.EventLoop;
import io.lci.nativebridge.Codes;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The operations of a loop that wait for their destinations. They stay linked while they are in the
 * submission array, and are unlinked when their outcome is final. Loop only, where nothing else is
 * said.
 */
final class Waiting {
  final WaitQueues queues;
  private final EventLoop loop;
  private final Lane lane;
  private final DestinationTable destinations;
  private final Failures failures;
  private final ParkedTable parked;
  private final Stalls stalls;

  /** Operations that were appended again so far. */
  long resubmitted;

  Waiting(
      EventLoop loop,
      Lane lane,
      DestinationTable destinations,
      Failures failures,
      WaitQueues queues) {
    this.loop = loop;
    this.lane = lane;
    this.destinations = destinations;
    this.failures = failures;
    this.queues = queues;
    this.parked = new ParkedTable(loop.core().options.maxParked());
    this.stalls = new Stalls(loop.core(), destinations);
  }

  int size() {
    return parked.size();
  }

  // One item

  /** An item waits, for the reason that the core gave. */
  void park(Submitter owner, Object item, Destination destination, int code) {
    if (enqueue(owner, item, destination, code)) {
      queues.await(destination, code);
    }
  }

  /**
   * An item waits, for a reason that the caller looks after.
   *
   * @return false if it has failed, as too many wait
   */
  boolean enqueue(Submitter owner, Object item, Destination destination, int code) {
    if (parked.isFull() && !owner.waitsBeyondLimit()) {
      fail(owner, item, destination, failures.tooManyParked(destination, parked.size()));
      return false;
    }
    if (destination.count == 0) {
      destination.progressNanos = loop.now();
      destination.warned = false;
    }
    int node = parked.append(destination, owner, item);
    owner.parked(item, destination, node, code);
    return true;
  }

  /** The outcome of an item is final: it waits no more, if it did. */
  void unlink(Destination destination, int node) {
    if (node != ParkedTable.NONE) {
      parked.remove(destination, node);
      destination.progressNanos = loop.now();
      destination.warned = false;
    }
  }

  /** It fails for good. */
  void fail(Submitter owner, Object item, Destination destination, RuntimeException reason) {
    owner.failed(item, destination, reason);
    loop.markReady(owner.drainable());
  }

  /** Takes an item out. */
  void remove(Destination destination, int node) {
    parked.remove(destination, node);
  }

  // What may go

  /** A destination has room. */
  void writable(boolean engine, int device, int rank, int port, long granted) {
    int kind = engine ? Destination.SEND : Destination.AM;
    writable(destinations.find(kind, device, rank, port), granted);
    if (!engine) {
      writable(destinations.find(Destination.REPLY, device, rank, port), granted);
    }
  }

  private void writable(@Nullable Destination destination, long granted) {
    if (destination != null && destination.count > 0) {
      destination.granted +=
          Math.max(1, granted); // told to try: an attempt without room asks to be told again
      queues.markReady(destination);
    }
  }

  /**
   * Appends waiting items that may go now; work is bounded per turn, whatever the number that
   * waits. [V4]
   */
  int resubmit(SubmissionArray array) {
    if (parked.size() == 0) {
      queues.clear();
      return 0;
    }
    queues.collectReady();
    int budget = EventLoop.POST_BUDGET;
    int turns = queues.readyCount();
    while (turns-- > 0 && budget > 0) {
      Destination destination = queues.nextReady();
      if (destination == null) {
        break;
      }
      budget -= resubmit(array, destination, budget);
    }
    return EventLoop.POST_BUDGET - budget;
  }

  private int resubmit(SubmissionArray array, Destination destination, int budget) {
    boolean bounded = destination.wait == Destination.Wait.GRANT;
    int allowed = (int) Math.min(bounded ? destination.granted : destination.quantum, budget);
    int node = destination.head;
    int before = array.batch.size();
    int sent = 0;
    boolean stopped = false;
    while (node != ParkedTable.NONE && sent < allowed) {
      if (array.isFull()) {
        // Never flush here: the nodes of this pass stay linked until their outcome. The rest goes
        // next turn.
        stopped = true;
        queues.markReady(destination);
        break;
      }
      int following = parked.next(node);
      int code = array.append(parked.owner(node), parked.item(node), destination, node);
      if (code != Codes.DONE) {
        stopped = true;
        queues.awaitOwn(destination, code);
        destination.refused = array.batch.size() > before;
        // It was encoded, and waits on
        parked.owner(node).parked(parked.item(node), destination, node, code);
        break;
      }
      node = following;
      sent++;
    }
    if (bounded) {
      destination.granted -= sent;
    }
    if (!stopped && array.batch.size() == before && destination.count > 0 && allowed > 0) {
      queues.probe(destination); // every encoder failed, so no outcome will ask for the next
    }
    resubmitted += sent;
    return Math.max(1, sent);
  }

  // Taking back

  /** Removes what one owner has waiting for a destination. */
  void removeAll(Submitter owner, Destination destination) {
    List<Object> removed = new ArrayList<>();
    int node = destination.head;
    while (node != ParkedTable.NONE) {
      int following = parked.next(node);
      if (parked.owner(node) == owner) {
        removed.add(parked.item(node));
        parked.remove(destination, node);
      }
      node = following;
    }
    for (Object item : removed) { // a hook in there may remove others, or post
      owner.dropped(item, Codes.ERR_CANCELLED);
    }
  }

  /** Fails everything that waits for anyone. */
  void failAll(int code) {
    for (Destination destination : destinations.slots()) {
      failOf(destination, code);
    }
  }

  /**
   * Fails what waits for a rank that has gone; but a receive may find what that rank had sent
   * before: the core tells when it is posted.
   */
  void failOfRank(int rank, int code) {
    for (Destination destination : destinations.slots()) {
      if (destination != null
          && destination.rank == rank
          && destination.hasPeer()
          && destination.kind != Destination.RECEIVE) {
        failOf(destination, code);
      }
    }
  }

  private void failOf(@Nullable Destination destination, int code) {
    while (destination != null && destination.head != ParkedTable.NONE) {
      int node = destination.head;
      Submitter owner = parked.owner(node);
      Object item = parked.item(node);
      parked.remove(destination, node);
      fail(owner, item, destination, failures.failure(destination, code));
    }
  }

  /** Fails everything of one device that waits for one port. */
  void failOfPort(int device, int rank, int port, int code) {
    failOf(destinations.find(Destination.AM, device, rank, port), code);
    failOf(destinations.find(Destination.REPLY, device, rank, port), code);
  }

  /** The same of a matching engine: ports have numbers of their own. */
  void failOfEngine(int device, int rank, int engine, int code) {
    failOf(destinations.find(Destination.SEND, device, rank, engine), code);
  }

  // Fences

  int beginFence() {
    return parked.beginFence();
  }

  /** Whether something waits to be sent that came before a fence. */
  boolean holdsFence(int fence) {
    for (Destination destination : destinations.slots()) {
      if (destination != null && destination.sends() && parked.holdsFence(destination, fence)) {
        return true;
      }
    }
    return false;
  }

  // For others to see

  /**
   * What waits, for a snapshot. Any thread: the loop goes on meanwhile, so the values are recent.
   */
  void addStates(List<LciSnapshot.WaitingState> into) {
    for (Destination destination : destinations.slots()) {
      if (destination != null && destination.count > 0) {
        into.add(destination.state(lane.firstDevice() + destination.device));
      }
    }
  }

  /** Reports destinations that accepted nothing for long, once per stall. */
  void reportStalls(long now, long limitNanos) {
    if (parked.size() > 0) {
      stalls.report(now, limitNanos);
    }
  }
}
