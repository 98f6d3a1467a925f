/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.LciSnapshot;
import io.lci.am.Message;
import io.lci.completion.Completion;
import io.lci.completion.CompletionHandler;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.core.Errors;
import io.lci.internal.lane.BufferPool;
import io.lci.internal.lane.HeapTarget;
import io.lci.internal.lane.Lane;
import io.lci.internal.lane.OperationTimes;
import io.lci.internal.lane.Packets;
import io.lci.internal.lane.PooledBuffer;
import io.lci.internal.lane.Relay;
import io.lci.internal.lane.SignalTarget;
import io.lci.internal.lane.SlotTable;
import io.lci.internal.lane.Submissions;
import io.lci.internal.loop.EventLoop;
import io.lci.nativebridge.Codes;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The sending half of a loop: {@link SubmissionArray} writes descriptors and reads what the core
 * answers, and in {@link Waiting} is what was refused until it may go. Loop only.
 *
 * <p>Two rules keep the order per destination. A fresh item goes into the array only while nothing
 * waits for its destination, else it waits behind. Waiting items stay linked while they are in the
 * array, and are unlinked when their outcome is final.
 */
public final class Outbox implements Submissions {
  /**
   * Most waiting items of one destination that are resubmitted per turn when no grant bounds them.
   */
  static final int QUANTUM = 256;

  public final EventLoop loop;
  public final Lane lane;
  public final CoreRuntime core;
  public final BufferPool pool = new BufferPool();
  public final SlotTable slots;
  final DestinationTable destinations = new DestinationTable();
  final Failures failures;
  private final HandlerCalls handlers;
  private final Packets packets;
  private final Relay relay;
  private final OperationTimes times;
  private final Waiting waiting;
  private final SubmissionArray array;
  private boolean settling;

  /** Descriptors written so far. */
  public long posts;

  /** How many are enough until the next drain. */
  private long enough = EventLoop.POST_BUDGET;

  /** Messages that came when nobody wanted them any more. */
  public long lateData;

  public Outbox(EventLoop loop, Lane lane) {
    this.loop = loop;
    this.lane = lane;
    this.core = loop.core();
    this.relay = new Relay(core.gate, lane, loop::uncaught, () -> loop.execute(this::placeFreed));
    this.packets = new Packets(lane);
    this.handlers = new HandlerCalls(loop);
    this.failures = new Failures(core, lane);
    this.times = new OperationTimes(core.observer);
    this.slots = new SlotTable(core.options.maxPosted(), pool, times, relay);
    this.waiting =
        new Waiting(loop, lane, destinations, failures, new WaitQueues(lane, packets, slots));
    this.array = new SubmissionArray(this, packets, relay, times, waiting);
  }

  /** The index in the lane of a device of the runtime. */
  int laneDevice(int device) {
    return lane.indexOf(device);
  }

  public boolean hasBatch() {
    return array.batch.size() > 0;
  }

  /** Whether the next crossing takes calls of groups and nothing else. */
  public boolean hasCallsAlone() {
    return array.hasCallsAlone();
  }

  /** Fresh descriptors have their share of a turn again. */
  public void drainBegins() {
    enough = posts + EventLoop.POST_BUDGET;
  }

  /** Whether fresh descriptors have filled their share of a turn. */
  public boolean hasPostedEnough() {
    return posts >= enough;
  }

  /** Whether the next turn has something to resubmit, so that the loop must not sleep. */
  public boolean wantsTurn() {
    return waiting.queues.wantsTurn();
  }

  /** Whether something waits for what no doorbell announces. */
  public boolean wantsPackets() {
    return waiting.queues.wantsPackets();
  }

  public boolean isQuiet() {
    return unendedCount() == 0;
  }

  /** Operations that a graceful close waits for: written, waiting, or posted. */
  public int unendedCount() {
    return array.batch.size() + waiting.size() + slots.holdingClose();
  }

  // Counters

  /** Operations that wait. */
  public int parkedCount() {
    return waiting.size();
  }

  public long resubmitted() {
    return waiting.resubmitted;
  }

  public long refusals() {
    return array.refusals;
  }

  public RetryCounts retries() {
    return array.retries;
  }

  // Submitting

  /** Appends an item, or lets it wait behind what waits for its destination. */
  void submit(Submitter owner, Object item, Destination destination) {
    refuseReentry();
    if (destination.count == 0 && array.isFull()) {
      flush();
    }
    if (destination.count != 0) {
      waiting.park(owner, item, destination, Codes.RETRY_ORDER);
      return;
    }
    int code = array.append(owner, item, destination, ParkedTable.NONE);
    if (code == Codes.DONE) {
      return;
    }
    // Without a packet or slot. What is in the array for the same destination must be refused or
    // accepted first.
    flush();
    if (destination.count != 0) {
      waiting.park(owner, item, destination, Codes.RETRY_ORDER);
      return;
    }
    code = array.append(owner, item, destination, ParkedTable.NONE);
    if (code != Codes.DONE && waiting.enqueue(owner, item, destination, code)) {
      waiting.queues.awaitOwn(destination, code);
    }
  }

  /**
   * Attempts an item once, now.
   *
   * @return false if it was not attempted because others wait for its destination
   */
  boolean attempt(Submitter owner, Object item, Destination destination) {
    refuseReentry();
    flush();
    if (destination.count != 0) {
      return false;
    }
    int code = array.append(owner, item, destination, ParkedTable.NONE);
    if (code == Codes.DONE) {
      flush();
    } else if (owner.wants(item)) {
      throw new IllegalStateException("a single attempt must not wait");
    } else {
      owner.dropped(item, code);
    }
    return true;
  }

  /** Crosses with POST alone. */
  @Override
  public int flush() {
    refuseReentry();
    int count = array.batch.size();
    if (count == 0) {
      return 0;
    }
    enter(Codes.ENTER_POST);
    return count;
  }

  /** Crosses with everything that is in the array. Returns the native code. */
  public int enter(int flags) {
    refuseReentry();
    int entryCount = array.takeEntries();
    settling = true;
    try {
      int code = lane.enter(flags, entryCount);
      loop.entered();
      if (Codes.isError(code)) {
        array.failBatch(code);
        throw new IllegalStateException("lane enter failed: " + Errors.name(lane.calls, code));
      }
      array.settle();
      packets.batchEnded();
      return code;
    } finally {
      array.batch.clear();
      settling = false;
      times.batchEnded();
    }
  }

  /** In short, as it is on the way of each item. */
  private void refuseReentry() {
    if (settling || array.isEncoding()) {
      throw reentered();
    }
  }

  private IllegalStateException reentered() {
    return new IllegalStateException(
        array.isEncoding()
            ? "an encoder must not post or flush"
            // It would write over the batch whose outcomes are being read
            : "nothing may post or flush while outcomes are read");
  }

  /** While outcomes are read: the tag of that descriptor, as the core has left it. */
  long settledTag() {
    return array.settledTag();
  }

  // Records

  @Override
  public void ended(long context, int code, int rank, long tag, int size, long received) {
    if (received == 0) {
      slots.complete(context, code, rank, tag, size, null);
    } else {
      try {
        slots.complete(context, code, rank, tag, size, PooledBuffer.ofCore(received, size));
      } finally {
        core.calls.bufferFree(received);
      }
    }
    completionSeen();
  }

  /** Operations refused for too many in flight may go. */
  public void completionSeen() {
    waiting.queues.completionSeen();
  }

  private void placeFreed() {
    waiting.queues.placeFreed();
  }

  /** A WRITABLE record of one of the lane's devices. */
  @Override
  public void writable(boolean engine, int device, int rank, int port, long granted) {
    waiting.writable(engine, device, rank, port, granted);
  }

  /**
   * Appends waiting items that may go now; work is bounded per turn, whatever the number that
   * waits. [V4]
   */
  public int resubmit() {
    return waiting.resubmit(array);
  }

  /**
   * Passes the signal of an operation that kept its slot on to a completion object.
   *
   * @return whether that keeps the message
   */
  boolean relay(
      SignalTarget target,
      int code,
      int userContext,
      @Nullable Message message,
      int rank,
      long tag,
      int size) {
    loop.enterSoon();
    return relay.signal(target, code, userContext, message, rank, tag, size);
  }

  /**
   * Tells a completion target that the core does not know of the end of an operation.
   *
   * @return whether that keeps the message
   */
  boolean tell(Object target, Completion completion) {
    if (target instanceof CompletionHandler handler) {
      handlers.add(handler, completion);
      return true;
    }
    return relay.tell((HeapTarget) target, completion);
  }

  // Fences

  /** Begins a fence of what waits; what is in the array goes before it. Returns its number. */
  int beginFence() {
    flush();
    return waiting.beginFence();
  }

  /** Whether something waits to be sent that came before a fence. */
  boolean holdsFence(int fence) {
    return waiting.holdsFence(fence);
  }

  // Taking back

  /** Asks the core to cancel an unmatched receive; whoever waited for it is gone already. */
  void cancelReceive(long context, Destination receive) {
    // The outbox may be settling a batch just now
    loop.markReady(new NativeCancel(this, context, receive));
  }

  /** Removes a waiting item. Not while its pass is under way: see {@link #isInBatch()}. */
  void unpark(Destination destination, int node) {
    waiting.remove(destination, node);
  }

  /**
   * Whether user code that runs now is called in the midst of a batch: by an encoder, or by a hook
   * for what an outcome discards. Nothing may be taken back then.
   */
  public boolean isInBatch() {
    return array.isEncoding() || settling;
  }

  /** Removes what one owner has waiting for a destination. */
  void unparkAll(Submitter owner, Destination destination) {
    waiting.removeAll(owner, destination);
  }

  /** Fails everything that waits for anyone. */
  public void failParked(int code) {
    waiting.failAll(code);
  }

  /** Fails what waits for a rank that has gone. */
  public void failParked(int rank, int code) {
    waiting.failOfRank(rank, code);
  }

  @Override
  public void failParked(boolean engine, int device, int rank, int port, int code) {
    if (engine) {
      waiting.failOfEngine(device, rank, port, code);
    } else {
      waiting.failOfPort(device, rank, port, code);
    }
  }

  /**
   * What waits, for a snapshot. Any thread: the loop goes on meanwhile, so the values are recent.
   */
  public void addWaiting(List<LciSnapshot.WaitingState> into) {
    waiting.addStates(into);
  }

  /** Reports destinations that accepted nothing for long, once per stall. */
  public void reportStalls(long now, long limitNanos) {
    waiting.reportStalls(now, limitNanos);
  }
}
