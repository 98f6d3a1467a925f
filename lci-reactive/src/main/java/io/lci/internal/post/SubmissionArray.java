/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.am.Encoder;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.lane.Lane;
import io.lci.internal.lane.OperationTimes;
import io.lci.internal.lane.Packets;
import io.lci.internal.lane.PlaceTarget;
import io.lci.internal.lane.PostWriter;
import io.lci.internal.lane.Relay;
import io.lci.internal.lane.SlotTable;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.post.Destination.Wait;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.Layout;
import reactor.core.Exceptions;

/**
 * The submission array of a lane: writes a descriptor for each item, and reads what the core
 * answered. Reading outcomes calls no user code: it only moves state and marks what has signals to
 * deliver. Loop only.
 */
final class SubmissionArray {
  private static final int LEAST_QUANTUM = 16;

  final Batch batch;
  final RetryCounts retries = new RetryCounts();
  private final Outbox outbox;
  private final EventLoop loop;
  private final Lane lane;
  private final Packets packets;
  private final SlotTable slots;
  private final OperationTimes times;
  private final CoreRuntime core;
  private final Relay relay;
  private final Failures failures;
  private final Waiting waiting;
  private final PostWriter writer;

  /** Entries; an inline payload that starts in the last one has slack behind it. */
  private final int room;

  private int used;
  private boolean encoding;

  /** Whether there is something else than calls of groups in it. */
  private boolean hasOthers;

  /** The descriptor of the batch whose outcome is read. */
  private int settled;

  /** Operations that the core refused so far. */
  long refusals;

  SubmissionArray(
      Outbox outbox, Packets packets, Relay relay, OperationTimes times, Waiting waiting) {
    this.outbox = outbox;
    this.loop = outbox.loop;
    this.core = outbox.core;
    this.lane = outbox.lane;
    this.packets = packets;
    this.slots = outbox.slots;
    this.relay = relay;
    this.times = times;
    this.failures = outbox.failures;
    this.waiting = waiting;
    this.writer = PostWriter.ofLane(lane, core.arena, packets, outbox.pool, core.maxEager);
    this.room = lane.submissionCount();
    this.batch = new Batch(room);
  }

  boolean isFull() {
    return used >= room;
  }

  /** Whether an encoder runs. */
  boolean isEncoding() {
    return encoding;
  }

  /** Whether all that is in it are calls of groups. */
  boolean hasCallsAlone() {
    return !hasOthers;
  }

  /** The array is empty from now on; returns how many entries were used. */
  int takeEntries() {
    int entries = used;
    used = 0;
    hasOthers = false;
    return entries;
  }

  /** The device of the runtime that serves a destination. */
  private int device(Destination destination) {
    return lane.firstDevice() + destination.device;
  }

  /**
   * Writes a descriptor: DONE, or why it cannot be written now. A failing encoder fails its item
   * alone.
   */
  int append(Submitter owner, Object item, Destination destination, int node) {
    PostWriter out = writer;
    out.begin(lane.submissionOffset() + used * Layout.DESCRIPTOR_SIZE, Encoder.UNKNOWN);
    encoding = true;
    try {
      int hint = owner.sizeHint(item);
      if (hint > Layout.INLINE_MAX && hint <= core.maxEager && packets.isEmpty()) {
        return refuseHere(owner, Codes.RETRY_NOPACKET);
      }
      out.expect(hint);
      owner.encode(item, out);
    } catch (Throwable e) {
      out.abandon();
      Exceptions.throwIfJvmFatal(e);
      waiting.unlink(destination, node);
      waiting.fail(owner, item, destination, failures.encodeFailure(destination, e));
      return Codes.DONE;
    } finally {
      encoding = false;
    }
    if (out.isStarved()) {
      out.abandon();
      return refuseHere(owner, Codes.RETRY_NOPACKET);
    }
    int slot = SlotTable.NONE;
    long context = 0;
    if ((out.flags & Codes.FLAG_COMP) != 0) {
      context = out.completionId & 0xFFFF_FFFFL | (long) out.userContext << 32;
    } else if (out.mayBePosted()) {
      if (slots.isFull()) {
        out.abandon();
        return refuseHere(owner, Codes.RETRY_PENDING);
      }
      PlaceTarget target = out.relayedTo;
      int reserved = target == null ? Codes.DONE : target.reserve(relay, destination.device);
      if (Codes.isRetry(reserved)) {
        out.abandon();
        if ((out.flags & Codes.FLAG_NO_RETRY) == 0) {
          return refuseHere(owner, Codes.RETRY_NOMEM);
        }
        waiting.unlink(destination, node);
        waiting.fail(owner, item, destination, failures.failure(destination, Codes.ERR_EXHAUSTED));
        return Codes.DONE;
      }
      slot = slots.take(owner.posted(item), out.buffer(), reserved == Codes.DONE ? target : null);
      context = slots.context(slot);
    }
    int packet = out.form() == Codes.FLAG_PACKET ? out.packet() : Packets.NONE;
    int index = batch.add(owner, item, destination, used, node, slot, packet);
    hasOthers |= destination.kind != Destination.COLLECTIVE;
    if (!destination.inBatch) {
      destination.inBatch = true;
      destination.reasoned = false;
    }
    used += out.finish(destination.rank, destination.port, destination.device, context);
    if (OperationTimes.isTimed(++outbox.posts)) {
      times.written(index, owner.kind(), device(destination));
    }
    return Codes.DONE;
  }

  /** The loop itself lacks something: the core is not asked. */
  private int refuseHere(Submitter owner, int code) {
    retries.refused(owner.kind(), code);
    return code;
  }

  // Outcomes

  /** The crossing itself failed: nobody will ever hear of these otherwise. */
  void failBatch(int code) {
    for (int i = 0; i < batch.size(); i++) {
      Destination destination = batch.destination(i);
      destination.inBatch = false;
      waiting.unlink(destination, batch.node(i));
      giveBack(i);
      waiting.fail(batch.owner(i), batch.item(i), destination, failures.failure(destination, code));
    }
  }

  /** Of each descriptor, then of each destination. */
  void settle() {
    for (int i = 0; i < batch.size(); i++) {
      settled = i;
      int code = lane.outcome(batch.entry(i));
      Submitter owner = batch.owner(i);
      Destination destination = batch.destination(i);
      if (code <= Codes.POSTED_BACKLOG) {
        accept(i, owner, destination, code);
      } else {
        giveBack(i);
        if (Codes.isRetry(code)) {
          refuse(owner, batch.item(i), destination, batch.node(i), code);
        } else {
          waiting.unlink(destination, batch.node(i));
          waiting.fail(owner, batch.item(i), destination, failures.failure(destination, code));
        }
      }
    }
    for (int run = 0; run < batch.runs(); run++) {
      endBatch(batch.destinationOfRun(run));
    }
  }

  /** The tag of the descriptor whose outcome is read: the core has written an answer there. */
  long settledTag() {
    return lane.tag(batch.entry(settled));
  }

  private void accept(int index, Submitter owner, Destination destination, int code) {
    waiting.unlink(destination, batch.node(index));
    destination.accepted++;
    int slot = batch.slot(index);
    if (slot != SlotTable.NONE) {
      slot = keepOrRelease(slot, code);
    }
    times.accepted(index, Codes.isDone(code), slot, slots);
    owner.accepted(batch.item(index), destination, code, slot);
    loop.markReady(owner.drainable());
  }

  /** The slot of a posted operation; of one that is done there is none any more. */
  private int keepOrRelease(int slot, int code) {
    if (!Codes.isDone(code)) {
      return slot;
    }
    slots.release(slot);
    return SlotTable.NONE;
  }

  private void giveBack(int index) {
    if (batch.packet(index) != Packets.NONE) {
      packets.give(batch.packet(index));
    }
    if (batch.slot(index) != SlotTable.NONE) {
      slots.release(batch.slot(index));
    }
  }

  private void refuse(Submitter owner, Object item, Destination destination, int node, int code) {
    refusals++;
    retries.refused(owner.kind(), code);
    destination.refused = true;
    destination.probe = 1;
    if (!owner.wants(item)) {
      waiting.unlink(destination, node);
      owner.dropped(item, code);
      loop.markReady(owner.drainable());
      return;
    }
    if (node == ParkedTable.NONE) {
      waiting.park(owner, item, destination, code);
    } else {
      destination.lastKept = node;
      owner.parked(item, destination, node, code);
      waiting.queues.await(destination, code);
    }
  }

  /**
   * After a batch: waiting items that were all accepted may have more room, and only an attempt
   * tells.
   */
  private void endBatch(Destination destination) {
    if (!destination.inBatch) {
      return; // it had several elements in the batch
    }
    destination.inBatch = false;
    destination.lastKept = ParkedTable.NONE;
    if (destination.refused) {
      destination.quantum =
          Math.min(Outbox.QUANTUM, Math.max(LEAST_QUANTUM, 2 * destination.accepted));
      if (destination.count > 0 && !destination.reasoned) {
        waiting.queues.awaitTurn(destination);
      }
    } else {
      destination.quantum = Outbox.QUANTUM;
      if (destination.count > 0) {
        waiting.queues.probe(destination);
      }
    }
    destination.refused = false;
    destination.accepted = 0;
    if (destination.count == 0) {
      destination.wait = Wait.NOTHING;
      destination.granted = 0;
    }
  }
}
