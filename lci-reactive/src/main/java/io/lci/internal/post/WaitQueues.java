/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.internal.lane.Lane;
import io.lci.internal.lane.Packets;
import io.lci.internal.lane.SlotTable;
import io.lci.internal.post.Destination.Wait;
import io.lci.nativebridge.Codes;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * Destinations with waiting items, by what they wait for, and those that may go now. Loop only.
 *
 * <p>A destination is in at most one queue by its {@link Destination#wait}; one that was released
 * meanwhile stays in the queue's array and is skipped.
 */
final class WaitQueues {
  private final Lane lane;
  private final Packets packets;
  private final SlotTable slots;

  private final ArrayDeque<Destination> ready = new ArrayDeque<>();
  private final ArrayDeque<Destination> forDevice = new ArrayDeque<>();
  private final ArrayDeque<Destination> forPacket = new ArrayDeque<>();
  private final ArrayDeque<Destination> forSlot = new ArrayDeque<>();
  private final ArrayDeque<Destination> forTurn = new ArrayDeque<>();
  private final ArrayDeque<Destination> forCompletion = new ArrayDeque<>();

  /** By device. */
  private final int[] seenGenerations;

  private boolean completed;
  private boolean placed;

  WaitQueues(Lane lane, Packets packets, SlotTable slots) {
    this.lane = lane;
    this.packets = packets;
    this.slots = slots;
    this.seenGenerations = new int[lane.deviceCount()];
  }

  /** Whether the next turn has something to resubmit, so that the loop must not sleep. */
  boolean wantsTurn() {
    return !ready.isEmpty()
        || !forTurn.isEmpty()
        || (!forPacket.isEmpty() && !packets.isEmpty())
        || (!forSlot.isEmpty() && !slots.isFull())
        || (placed && !forDevice.isEmpty())
        || (!(forDevice.isEmpty() && forPacket.isEmpty() && forCompletion.isEmpty())
            && hasDeviceMoved());
  }

  private boolean hasDeviceMoved() {
    for (int device = 0; device < seenGenerations.length; device++) {
      if (lane.generation(device) != seenGenerations[device]) {
        return true;
      }
    }
    return false;
  }

  /** Whether something waits for what no doorbell announces. */
  boolean wantsPackets() {
    return !forPacket.isEmpty() || !forDevice.isEmpty();
  }

  /**
   * Waits for what this loop lacks itself: a packet in the cache, a slot, or a place in a
   * completion target. The core was not asked for the operation.
   */
  void awaitOwn(Destination destination, int code) {
    destination.reason = code;
    destination.reasoned = true;
    switch (code) {
      case Codes.RETRY_NOPACKET -> wait(destination, Wait.PACKET, forPacket);
      case Codes.RETRY_NOMEM -> wait(destination, Wait.DEVICE, forDevice);
      default -> wait(destination, Wait.SLOT, forSlot);
    }
  }

  /** Waits for what the core's answer asks for. */
  void await(Destination destination, int code) {
    if (code == Codes.RETRY_ORDER) {
      if (destination.wait == Wait.NOTHING) {
        wait(destination, Wait.TURN, forTurn);
      }
      return;
    }
    destination.reason = code;
    destination.reasoned = true;
    switch (code) {
      case Codes.RETRY_NOCREDIT, Codes.RETRY_BACKLOG -> {
        // The peer has no such device yet, or a member has not come so far
        if (destination.kind == Destination.REMOTE || destination.kind == Destination.COLLECTIVE) {
          wait(destination, Wait.COMPLETION, forCompletion);
        } else {
          destination.wait = Wait.GRANT;
          destination.granted = 0;
        }
      }
      case Codes.RETRY_NOMEM, Codes.RETRY_NOPACKET -> wait(destination, Wait.DEVICE, forDevice);
      case Codes.RETRY_PENDING -> wait(destination, Wait.COMPLETION, forCompletion);
      default -> wait(destination, Wait.TURN, forTurn);
    }
  }

  /** Refused, and nothing that waits knows why: the next turn asks. */
  void awaitTurn(Destination destination) {
    wait(destination, Wait.TURN, forTurn);
  }

  private static void wait(Destination destination, Wait kind, ArrayDeque<Destination> queue) {
    if (destination.wait != kind) {
      destination.wait = kind;
      queue.add(destination);
    }
  }

  void markReady(Destination destination) {
    if (!destination.ready && destination.count > 0) {
      destination.ready = true;
      ready.add(destination);
    }
  }

  /** Tries again, with more each time, where only an attempt tells whether there is room. */
  void probe(Destination destination) {
    destination.granted = Math.max(destination.granted, destination.probe);
    destination.probe = Math.min(Outbox.QUANTUM, destination.probe * 2);
    markReady(destination);
  }

  /** A completion was recorded: operations refused for too many in flight may go. */
  void completionSeen() {
    completed = true;
  }

  /** There may be a place in a completion target of the heap. */
  void placeFreed() {
    placed = true;
  }

  int readyCount() {
    return ready.size();
  }

  @Nullable Destination nextReady() {
    Destination destination = ready.poll();
    if (destination != null) {
      destination.ready = false;
    }
    return destination;
  }

  /** Moves to the ready ones those whose cause to wait has gone. */
  void collectReady() {
    for (int device = 0; device < seenGenerations.length; device++) {
      int generation = lane.generation(device);
      if (generation != seenGenerations[device]) {
        seenGenerations[device] = generation;
        releaseOf(device, forDevice, Wait.DEVICE);
        releaseOf(device, forPacket, Wait.PACKET);
        releaseOf(device, forCompletion, Wait.COMPLETION); // see Wait.COMPLETION
      }
    }
    if (!packets.isEmpty()) {
      release(forPacket, Wait.PACKET);
    }
    if (!slots.isFull()) { // also where no completion tells: what is done at once gives it back
      release(forSlot, Wait.SLOT);
    }
    release(forTurn, Wait.TURN);
    if (completed) {
      completed = false;
      release(forCompletion, Wait.COMPLETION);
    }
    if (placed) {
      placed = false;
      release(forDevice, Wait.DEVICE);
    }
  }

  private void release(ArrayDeque<Destination> queue, Wait kind) {
    for (Destination d = queue.poll(); d != null; d = queue.poll()) {
      if (d.wait == kind) {
        d.wait = Wait.NOTHING;
        markReady(d);
      }
    }
  }

  /** As {@link #release}, of those that use one device. */
  private void releaseOf(int device, ArrayDeque<Destination> queue, Wait kind) {
    for (int left = queue.size(); left > 0; left--) {
      Destination d = queue.remove();
      if (d.device != device) {
        queue.add(d);
      } else if (d.wait == kind) {
        d.wait = Wait.NOTHING;
        markReady(d);
      }
    }
  }

  /** Nothing waits any more: what is refused from now on waits for what moves from now on. */
  void clear() {
    for (int device = 0; device < seenGenerations.length; device++) {
      seenGenerations[device] = lane.generation(device);
    }
    clear(forDevice);
    clear(forPacket);
    clear(forSlot);
    clear(forTurn);
    clear(forCompletion);
    while (nextReady() != null) {
      // its mark is taken off
    }
    completed = false;
    placed = false;
  }

  private static void clear(ArrayDeque<Destination> queue) {
    for (Destination d = queue.poll(); d != null; d = queue.poll()) {
      d.wait = Wait.NOTHING;
    }
  }
}
