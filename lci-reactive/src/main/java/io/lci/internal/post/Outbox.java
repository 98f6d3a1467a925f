/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.LciSnapshot;
import io.lci.am.Encoder;
import io.lci.am.Message;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.core.Errors;
import io.lci.internal.lane.BufferPool;
import io.lci.internal.lane.Lane;
import io.lci.internal.lane.OperationTimes;
import io.lci.internal.lane.Packets;
import io.lci.internal.lane.PostWriter;
import io.lci.internal.lane.Relay;
import io.lci.internal.lane.SignalTarget;
import io.lci.internal.lane.SlotTable;
import io.lci.internal.lane.Submissions;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.post.Destination.Wait;
import io.lci.nativebridge.Codes;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The sending half of a loop: writes descriptors, crosses, reads outcomes, parks what was refused
 * and resubmits it when it may go. Loop only.
 *
 * <p>Two rules keep the order per destination. A fresh item goes into the array only while nothing
 * waits for its destination, else it waits behind. Waiting items stay linked while they are in the
 * array, and are unlinked when their outcome is final.
 *
 * <p>Reading outcomes calls no user code: it only moves state and marks what has signals to
 * deliver.
 */
public final class Outbox implements Submissions {
  /**
   * Most and least waiting items of one destination resubmitted per turn when no grant bounds them.
   */
  static final int QUANTUM = 256;

  private static final int LEAST_QUANTUM = 16;

  /** Entries filled with waiting items in a turn, as with fresh ones. */
  private static final int POST_BUDGET = EventLoop.POST_BUDGET;

  public final EventLoop loop;
  public final Lane lane;
  public final CoreRuntime core;
  private final Relay relay;
  private final int room;

  final Packets packets;
  public final BufferPool pool = new BufferPool();
  public final SlotTable slots;
  final DestinationTable destinations = new DestinationTable();
  private final ParkedTable parked;
  private final PostWriter writer;

  private final Batch batch;
  private int used;
  private boolean encoding;
  private boolean settling;

  private final OperationTimes times;
  private final WaitQueues waiting;
  private final Stalls stalls;
  final Failures failures;

  // Counters
  public final RetryCounts retries = new RetryCounts();
  public long posts;
  public long resubmitted;
  public long refusals;
  public long lateData;

  public Outbox(EventLoop loop, Lane lane) {
    this.loop = loop;
    this.lane = lane;
    this.core = loop.core();
    this.relay = new Relay(core.gate, lane, loop::uncaught);
    this.packets = new Packets(lane);
    this.failures = new Failures(core, lane);
    this.stalls = new Stalls(core, destinations);
    this.times = new OperationTimes(core.observer);
    this.slots = new SlotTable(core.options.maxPosted(), pool, times, relay);
    this.waiting = new WaitQueues(lane, packets, slots);
    this.parked = new ParkedTable(core.options.maxParked());
    this.writer = PostWriter.ofLane(lane, core.arena, packets, pool, core.maxEager);
    this.room =
        lane.submissionCount(); // an inline payload that starts in the last entry has slack behind
    // it
    this.batch = new Batch(room);
  }

  /** The device of the runtime that serves a destination. */
  private int device(Destination destination) {
    return lane.firstDevice() + destination.device;
  }

  /** The index in the lane of a device of the runtime. */
  int laneDevice(int device) {
    return lane.indexOf(device);
  }

  public int parkedCount() {
    return parked.size();
  }

  public boolean hasBatch() {
    return batch.size() > 0;
  }

  /** Whether the next turn has something to resubmit, so that the loop must not sleep. */
  public boolean wantsTurn() {
    return waiting.wantsTurn();
  }

  /** Whether something waits for what no doorbell announces. */
  public boolean wantsPackets() {
    return waiting.wantsPackets();
  }

  public boolean isQuiet() {
    return batch.size() == 0 && parked.size() == 0 && slots.holdingClose() == 0;
  }

  // Submitting

  /** Appends an item, or lets it wait behind what waits for its destination. */
  void submit(Submitter owner, Object item, Destination destination) {
    refuseReentry();
    if (destination.count == 0 && used >= room) {
      flush();
    }
    if (destination.count != 0) {
      park(owner, item, destination, Codes.RETRY_ORDER);
      return;
    }
    int code = append(owner, item, destination, ParkedTable.NONE);
    if (code == Codes.DONE) {
      return;
    }
    // Without a packet or slot. What is in the array for the same destination must be refused or
    // accepted first.
    flush();
    if (destination.count != 0) {
      park(owner, item, destination, Codes.RETRY_ORDER);
      return;
    }
    code = append(owner, item, destination, ParkedTable.NONE);
    if (code != Codes.DONE && enqueue(owner, item, destination, code)) {
      waiting.awaitOwn(destination, code);
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
    int code = append(owner, item, destination, ParkedTable.NONE);
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
    int count = batch.size();
    if (count == 0) {
      return 0;
    }
    enter(Codes.ENTER_POST);
    return count;
  }

  /** Crosses with everything that is in the array. Returns the native code. */
  public int enter(int flags) {
    refuseReentry();
    int entryCount = used;
    used = 0;
    settling = true;
    try {
      int code = lane.enter(flags, entryCount);
      loop.entered();
      if (Codes.isError(code)) {
        failBatch(code);
        throw new IllegalStateException("lane enter failed: " + Errors.name(lane.calls, code));
      }
      settle();
      packets.batchEnded();
      return code;
    } finally {
      batch.clear();
      settling = false;
      times.batchEnded();
    }
  }

  /**
   * Writes a descriptor: DONE, or why it cannot be written now. A failing encoder fails its item
   * alone.
   */
  private int append(Submitter owner, Object item, Destination destination, int node) {
    PostWriter out = writer;
    out.begin(
        lane.submissionOffset() + used * io.lci.nativebridge.Layout.DESCRIPTOR_SIZE,
        Encoder.UNKNOWN);
    encoding = true;
    try {
      int hint = owner.sizeHint(item);
      if (hint > io.lci.nativebridge.Layout.INLINE_MAX
          && hint <= core.maxEager
          && packets.isEmpty()) {
        return refuseHere(owner, Codes.RETRY_NOPACKET);
      }
      out.expect(hint);
      owner.encode(item, out);
    } catch (Throwable e) {
      out.abandon();
      reactor.core.Exceptions.throwIfJvmFatal(e);
      unlink(destination, node);
      fail(owner, item, destination, failures.encodeFailure(destination, e));
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
        unlink(destination, node);
        fail(owner, item, destination, failures.failure(destination, Codes.ERR_EXHAUSTED));
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

  private void refuseReentry() {
    if (encoding) {
      throw new IllegalStateException("an encoder must not post or flush");
    }
    if (settling) {
      // It would write over the batch whose outcomes are being read
      throw new IllegalStateException("nothing may post or flush while outcomes are read");
    }
  }

  // Outcomes

  /** The crossing itself failed: nobody will ever hear of these otherwise. */
  private void failBatch(int code) {
    for (int i = 0; i < batch.size(); i++) {
      Destination destination = batch.destination(i);
      destination.inBatch = false;
      unlink(destination, batch.node(i));
      giveBack(i);
      fail(batch.owner(i), batch.item(i), destination, failures.failure(destination, code));
    }
  }

  private void settle() {
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
          unlink(destination, batch.node(i));
          fail(owner, batch.item(i), destination, failures.failure(destination, code));
        }
      }
    }
    for (int run = 0; run < batch.runs(); run++) {
      endBatch(batch.destinationOfRun(run));
    }
  }

  private void accept(int index, Submitter owner, Destination destination, int code) {
    unlink(destination, batch.node(index));
    destination.accepted++;
    int slot = batch.slot(index);
    if (slot != SlotTable.NONE && Codes.isDone(code)) {
      slots.release(slot);
      slot = SlotTable.NONE;
    }
    times.accepted(index, Codes.isDone(code), slot, slots);
    owner.accepted(batch.item(index), destination, code, slot);
    loop.markReady(owner.drainable());
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
      unlink(destination, node);
      owner.dropped(item, code);
      loop.markReady(owner.drainable());
      return;
    }
    if (node == ParkedTable.NONE) {
      park(owner, item, destination, code);
    } else {
      destination.lastKept = node;
      owner.parked(item, destination, node, code);
      waiting.await(destination, code);
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
      destination.quantum = Math.min(QUANTUM, Math.max(LEAST_QUANTUM, 2 * destination.accepted));
      if (destination.count > 0 && !destination.reasoned) {
        waiting.awaitTurn(destination);
      }
    } else {
      destination.quantum = QUANTUM;
      if (destination.count > 0) {
        waiting.probe(destination);
      }
    }
    destination.refused = false;
    destination.accepted = 0;
    if (destination.count == 0) {
      destination.wait = Wait.NOTHING;
      destination.granted = 0;
    }
  }

  private void unlink(Destination destination, int node) {
    if (node != ParkedTable.NONE) {
      parked.remove(destination, node);
      destination.progressNanos = loop.now();
      destination.warned = false;
    }
  }

  private void fail(
      Submitter owner, Object item, Destination destination, RuntimeException reason) {
    owner.failed(item, destination, reason);
    loop.markReady(owner.drainable());
  }

  // Waiting

  private void park(Submitter owner, Object item, Destination destination, int code) {
    if (enqueue(owner, item, destination, code)) {
      waiting.await(destination, code);
    }
  }

  private boolean enqueue(Submitter owner, Object item, Destination destination, int code) {
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

  @Override
  public void ended(long context, int code, int rank, long tag, int size) {
    slots.complete(context, code, rank, tag, size);
    completionSeen();
  }

  /** Operations refused for too many in flight may go. */
  public void completionSeen() {
    waiting.completionSeen();
  }

  /** A WRITABLE record of one of the lane's devices. */
  @Override
  public void writable(boolean engine, int device, int rank, int port, long granted) {
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
      waiting.markReady(destination);
    }
  }

  /**
   * Appends waiting items that may go now; work is bounded per turn, whatever the number that
   * waits. [V4]
   */
  public int resubmit() {
    if (parked.size() == 0) {
      waiting.clear();
      return 0;
    }
    waiting.collectReady();
    int budget = POST_BUDGET;
    int turns = waiting.readyCount();
    while (turns-- > 0 && budget > 0) {
      Destination destination = waiting.nextReady();
      if (destination == null) {
        break;
      }
      budget -= resubmit(destination, budget);
    }
    return POST_BUDGET - budget;
  }

  private int resubmit(Destination destination, int budget) {
    boolean bounded = destination.wait == Wait.GRANT;
    int allowed = (int) Math.min(bounded ? destination.granted : destination.quantum, budget);
    int node = destination.head;
    int before = batch.size();
    int sent = 0;
    boolean stopped = false;
    while (node != ParkedTable.NONE && sent < allowed) {
      if (used >= room) {
        // Never flush here: the nodes of this pass stay linked until their outcome. The rest goes
        // next turn.
        stopped = true;
        waiting.markReady(destination);
        break;
      }
      int following = parked.next(node);
      int code = append(parked.owner(node), parked.item(node), destination, node);
      if (code != Codes.DONE) {
        stopped = true;
        waiting.awaitOwn(destination, code);
        destination.refused = batch.size() > before;
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
    if (!stopped && batch.size() == before && destination.count > 0 && allowed > 0) {
      waiting.probe(destination); // every encoder failed, so no outcome will ask for the next
    }
    resubmitted += sent;
    return Math.max(1, sent);
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

  // Taking back

  /** Asks the core to cancel an unmatched receive; whoever waited for it is gone already. */
  void cancelReceive(long context, Destination receive) {
    // The outbox may be settling a batch just now
    loop.markReady(new NativeCancel(this, context, receive));
  }

  /** Removes a waiting item. Not while its pass is under way: see {@link #isInBatch()}. */
  void unpark(Destination destination, int node) {
    parked.remove(destination, node);
  }

  /**
   * Whether user code that runs now is called in the midst of a batch: by an encoder, or by a hook
   * for what an outcome discards. Nothing may be taken back then.
   */
  public boolean isInBatch() {
    return encoding || settling;
  }

  /** Removes what one owner has waiting for a destination. */
  void unparkAll(Submitter owner, Destination destination) {
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
  public void failParked(int code) {
    for (Destination destination : destinations.slots()) {
      failParked(destination, code);
    }
  }

  /**
   * Fails what waits for a rank that has gone; but a receive may find what that rank had sent
   * before: the core tells when it is posted.
   */
  public void failParked(int rank, int code) {
    for (Destination destination : destinations.slots()) {
      if (destination != null
          && destination.rank == rank
          && destination.hasPeer()
          && destination.kind != Destination.RECEIVE) {
        failParked(destination, code);
      }
    }
  }

  private void failParked(@Nullable Destination destination, int code) {
    while (destination != null && destination.head != ParkedTable.NONE) {
      int node = destination.head;
      Submitter owner = parked.owner(node);
      Object item = parked.item(node);
      parked.remove(destination, node);
      fail(owner, item, destination, failures.failure(destination, code));
    }
  }

  /** Fails everything of one device that waits for one port. */
  @Override
  public void failParked(int device, int rank, int port, int code) {
    failParked(destinations.find(Destination.AM, device, rank, port), code);
    failParked(destinations.find(Destination.REPLY, device, rank, port), code);
  }

  /**
   * What waits, for a snapshot. Any thread: the loop goes on meanwhile, so the values are recent.
   */
  public void addWaiting(List<LciSnapshot.WaitingState> into) {
    for (Destination destination : destinations.slots()) {
      if (destination != null && destination.count > 0) {
        into.add(destination.state(device(destination)));
      }
    }
  }

  /** Reports destinations that accepted nothing for long, once per stall. */
  public void reportStalls(long now, long limitNanos) {
    if (parked.size() > 0) {
      stalls.report(now, limitNanos);
    }
  }
}
