/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.internal.lane.Lane;
import io.lci.internal.lane.Packets;
import io.lci.internal.lane.SlotTable;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.post.Destination.Wait;
import io.lci.nativebridge.Codes;

/**
 * Reads what the core answered to a batch. That calls no user code: it only moves state and marks
 * what has signals to deliver. Loop only.
 */
final class Outcomes {
  private static final int LEAST_QUANTUM = 16;

  private final EventLoop loop;
  private final Lane lane;
  private final SubmissionArray array;
  private final Batch batch;
  private final SlotTable slots;
  private final Failures failures;
  private final Waiting waiting;

  /** Operations that the core refused so far. */
  long refusals;

  Outcomes(EventLoop loop, SubmissionArray array, Failures failures, Waiting waiting) {
    this.loop = loop;
    this.lane = array.lane;
    this.array = array;
    this.batch = array.batch;
    this.slots = array.slots;
    this.failures = failures;
    this.waiting = waiting;
  }

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

  private void accept(int index, Submitter owner, Destination destination, int code) {
    waiting.unlink(destination, batch.node(index));
    destination.accepted++;
    int slot = batch.slot(index);
    if (slot != SlotTable.NONE && Codes.isDone(code)) {
      slots.release(slot);
      slot = SlotTable.NONE;
    }
    array.times.accepted(index, Codes.isDone(code), slot, slots);
    owner.accepted(batch.item(index), destination, code, slot);
    loop.markReady(owner.drainable());
  }

  private void giveBack(int index) {
    if (batch.packet(index) != Packets.NONE) {
      array.packets.give(batch.packet(index));
    }
    if (batch.slot(index) != SlotTable.NONE) {
      slots.release(batch.slot(index));
    }
  }

  private void refuse(Submitter owner, Object item, Destination destination, int node, int code) {
    refusals++;
    array.retries.refused(owner.kind(), code);
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
