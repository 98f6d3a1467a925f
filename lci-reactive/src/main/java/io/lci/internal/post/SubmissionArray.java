/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.am.Encoder;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.lane.Lane;
import io.lci.internal.lane.OperationTimes;
import io.lci.internal.lane.Packets;
import io.lci.internal.lane.PostWriter;
import io.lci.internal.lane.Relay;
import io.lci.internal.lane.SignalTarget;
import io.lci.internal.lane.SlotTable;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.Layout;
import reactor.core.Exceptions;

/**
 * The submission array of a lane: writes a descriptor for each item, and knows whose it is until
 * its outcome is read. Loop only.
 */
final class SubmissionArray {
  final Lane lane;
  final Packets packets;
  final SlotTable slots;
  final OperationTimes times;
  final Batch batch;
  final RetryCounts retries = new RetryCounts();
  private final CoreRuntime core;
  private final Relay relay;
  private final Failures failures;
  private final Waiting waiting;
  private final PostWriter writer;

  /** Entries; an inline payload that starts in the last one has slack behind it. */
  private final int room;

  private int used;
  private boolean encoding;

  /** Descriptors written so far. */
  long posts;

  SubmissionArray(
      Outbox outbox, Packets packets, Relay relay, OperationTimes times, Waiting waiting) {
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

  /** The array is empty from now on; returns how many entries were used. */
  int takeEntries() {
    int entries = used;
    used = 0;
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
      SignalTarget target = out.relayedTo;
      int reserved = target == null ? Codes.DONE : relay.reserve(target, destination.device);
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
    if (!destination.inBatch) {
      destination.inBatch = true;
      destination.reasoned = false;
    }
    used += out.finish(destination.rank, destination.port, destination.device, context);
    if (OperationTimes.isTimed(++posts)) {
      times.written(index, owner.kind(), device(destination));
    }
    return Codes.DONE;
  }

  /** The loop itself lacks something: the core is not asked. */
  private int refuseHere(Submitter owner, int code) {
    retries.refused(owner.kind(), code);
    return code;
  }
}
