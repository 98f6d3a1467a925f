/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.lane;

import io.lci.Op;
import io.lci.nativebridge.Codes;
import java.util.Arrays;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The operations of a loop that may be or were posted. A slot owns the operation's memory until the
 * native signal, whoever still waits for it; slot and generation travel in the descriptor's
 * user_context. Loop only. [V15]
 */
public final class SlotTable {
  public static final int NONE = -1;

  private final int limit;
  private final BufferPool pool;
  private final OperationTimes times;
  private final Relay relay;
  private @Nullable Posted[] owners = new Posted[256];
  private @Nullable PooledBuffer[] memory = new PooledBuffer[256];

  /** Where the operation in the slot has a place for the signal that the loop passes on. */
  private @Nullable PlaceTarget[] places = new PlaceTarget[256];

  private int[] generations = new int[256];

  /** What the operation in the slot is and when it was written, if it is timed; else null. */
  private Op.@Nullable Kind[] timed = new Op.Kind[256];

  private long[] timedSince = new long[256];
  private int[] timedDevice = new int[256];
  private int[] free = new int[256];
  private int freeCount;
  private int used;
  private int holdingClose;

  public SlotTable(int limit, BufferPool pool, OperationTimes times, Relay relay) {
    this.limit = limit;
    this.pool = pool;
    this.times = times;
    this.relay = relay;
  }

  public int size() {
    return used - freeCount;
  }

  /** How many slots a graceful close waits for. */
  public int holdingClose() {
    return holdingClose;
  }

  public boolean isFull() {
    return size() >= limit;
  }

  public int take(Posted owner, @Nullable PooledBuffer buffer, @Nullable PlaceTarget place) {
    int slot = allocate();
    owners[slot] = owner;
    memory[slot] = buffer;
    places[slot] = place;
    if (owner.holdsClose()) {
      holdingClose++;
    }
    return slot;
  }

  public long context(int slot) {
    return ((long) generations[slot] << 32) | (slot + 1);
  }

  /** Who waits for the slot's native signal. */
  public Posted owner(int slot) {
    return java.util.Objects.requireNonNull(owners[slot]);
  }

  /** The operation was not posted after all: frees the slot, its memory and its place. */
  public void release(int slot) {
    Posted owner = owners[slot];
    if (owner != null && owner.holdsClose()) {
      holdingClose--;
    }
    owners[slot] = null;
    pool.give(memory[slot]);
    memory[slot] = null;
    PlaceTarget place = places[slot];
    if (place != null) {
      places[slot] = null;
      place.giveBack(relay);
    }
    timed[slot] = null;
    generations[slot]++;
    free[freeCount++] = slot;
  }

  /** The operation in the slot is timed. */
  void time(int slot, Op.Kind kind, int device, long since) {
    timed[slot] = kind;
    timedDevice[slot] = device;
    timedSince[slot] = since;
  }

  /**
   * Its owner waits no more, at most what remains of it; the slot keeps the memory until the native
   * signal.
   */
  public void detach(int slot) {
    Posted owner = owners[slot];
    if (owner == null) {
      return;
    }
    if (owner.holdsClose()) {
      holdingClose--;
    }
    owners[slot] = owner.remainder();
  }

  /**
   * The native signal.
   *
   * @param received where a message lies that did not fit into the slot's memory; the caller frees
   *     it afterwards
   */
  public void complete(
      long context, int code, int rank, long tag, int size, @Nullable PooledBuffer received) {
    int slot = (int) context - 1;
    if (slot < 0 || slot >= used || generations[slot] != (int) (context >>> 32)) {
      throw new IllegalStateException(
          "completion for unknown context " + Long.toHexString(context));
    }
    Posted owner = owners[slot];
    Op.Kind kind = timed[slot];
    if (kind != null && code == Codes.DONE) {
      times.ended(kind, timedDevice[slot], timedSince[slot]);
    }
    PlaceTarget place = places[slot];
    places[slot] = null;
    relay.signalsNextIn(place);
    if (owner != null) {
      tell(owner, code, rank, tag, size, received == null ? memory[slot] : received);
    }
    relay.signalled();
    release(slot);
  }

  /** If the heap has no room for what it brought, it has failed. */
  private static void tell(
      Posted owner, int code, int rank, long tag, int size, @Nullable PooledBuffer brought) {
    try {
      owner.completed(code, rank, tag, size, brought);
    } catch (PooledBuffer.NoMemory e) {
      owner.completed(Codes.ERR_NO_MEMORY, rank, tag, size, null);
    }
  }

  /**
   * Ends what is bound to a rank, of which the native signals still come; or everything for rank
   * -1, as the loop ends. The memory stays.
   */
  public void abandon(int rank, java.util.function.Function<Posted, RuntimeException> reason) {
    for (int slot = 0; slot < used; slot++) {
      Posted owner = owners[slot];
      if (owner != null && (rank < 0 || owner.boundRank() == rank)) {
        RuntimeException why = reason.apply(owner);
        detach(slot);
        owner.abandoned(why);
        Posted left = owners[slot];
        if (rank < 0 && left != null) { // no native signal comes any more
          owners[slot] = null;
          left.abandoned(why);
        }
      }
    }
  }

  /** The contexts of all that a fence waits for now. */
  public long[] beforeFence() {
    return IntStream.range(0, used).filter(this::holdsFence).mapToLong(this::context).toArray();
  }

  /** Whether the operation of one of those has not ended for whoever waits for it. */
  public boolean holdsFence(long context) {
    int slot = (int) context - 1;
    return generations[slot] == (int) (context >>> 32) && holdsFence(slot);
  }

  private boolean holdsFence(int slot) {
    Posted owner = owners[slot];
    return owner != null && owner.holdsFence();
  }

  private int allocate() {
    if (freeCount > 0) {
      return free[--freeCount];
    }
    if (used == owners.length) {
      int capacity = (int) Math.min((long) limit, used * 2L);
      owners = Arrays.copyOf(owners, capacity);
      memory = Arrays.copyOf(memory, capacity);
      places = Arrays.copyOf(places, capacity);
      generations = Arrays.copyOf(generations, capacity);
      timed = Arrays.copyOf(timed, capacity);
      timedSince = Arrays.copyOf(timedSince, capacity);
      timedDevice = Arrays.copyOf(timedDevice, capacity);
      free = Arrays.copyOf(free, capacity);
    }
    return used++;
  }
}
