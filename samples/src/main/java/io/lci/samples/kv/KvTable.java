/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kv;

import io.lci.LciRuntime;
import io.lci.am.MessageView;
import io.lci.am.Payload;
import io.lci.rma.MemoryRegion;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.ConcurrentSkipListMap;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;

/**
 * The keys that one rank owns, in memory that every rank may read. Only the owner writes, and only
 * on its loop 0, where its RPC handlers run; so nothing here takes a lock. Beside the slots lies an
 * index of the keys, for scans and for writing.
 */
final class KvTable {
  /**
   * Answer to a write.
   *
   * @param created whether the key is new
   * @param version of the value
   */
  record Stored(boolean created, long version) {
    /** Reads what {@link #payload()} wrote. */
    static Stored of(MessageView message) {
      return new Stored(message.getByte(0) != 0, message.getLong(1));
    }

    Payload payload() {
      byte[] bytes = new byte[1 + Long.BYTES];
      ByteBuffer.wrap(bytes)
          .order(ByteOrder.LITTLE_ENDIAN)
          .put(0, (byte) (created ? 1 : 0))
          .putLong(1, version);
      return Payload.of(bytes);
    }
  }

  private final Placement placement;
  private final MemoryRegion region;
  private final ConcurrentSkipListMap<String, Integer> slotOf = new ConcurrentSkipListMap<>();
  private final boolean[] taken;
  private long version;

  KvTable(LciRuntime lci, Placement placement) {
    this.placement = placement;
    this.region = lci.memory().allocate(placement.tableBytes());
    this.taken = new boolean[placement.slots() + Placement.PROBES - 1];
    for (int slot = 0; slot < taken.length; slot++) {
      space(slot).putLong(0, 0).putLong(Long.BYTES, 0); // the memory held something else before
    }
  }

  /** What the other ranks open. */
  MemoryRegion region() {
    return region;
  }

  int size() {
    return slotOf.size();
  }

  /** Writes a value; null if the slots in which the key may be are all taken. */
  @Nullable Stored put(String key, byte[] value) {
    Integer slot = slotOf.get(key);
    boolean created = slot == null;
    if (slot == null) {
      slot = freeSlot(key);
      if (slot == null) {
        return null;
      }
    }
    Slot.writeLive(space(slot), new Entry(key, ++version, value));
    taken[slot] = true;
    slotOf.put(key, slot);
    return new Stored(created, version);
  }

  /** Takes a key out; null if it is not there, else the version of that. */
  @Nullable Long remove(String key) {
    Integer slot = slotOf.remove(key);
    if (slot == null) {
      return null;
    }
    Slot.writeRemoved(space(slot), ++version);
    taken[slot] = false;
    return version;
  }

  /**
   * Keys that begin with {@code prefix}, sorted, each with the value it has when its turn comes.
   */
  Flux<Entry> scan(String prefix) {
    return Flux.fromIterable(slotOf.tailMap(prefix).entrySet())
        .takeWhile(entry -> entry.getKey().startsWith(prefix))
        .mapNotNull(entry -> read(entry.getKey()));
  }

  private @Nullable Entry read(String key) {
    Integer slot = slotOf.get(key);
    if (slot == null) {
      return null; // removed while the scan went on
    }
    byte[] copy = new byte[placement.slotBytes()];
    space(slot).get(0, copy);
    return Slot.read(copy).live();
  }

  private @Nullable Integer freeSlot(String key) {
    int first = placement.firstSlot(key);
    for (int slot = first; slot < first + Placement.PROBES; slot++) {
      if (!taken[slot]) {
        return slot;
      }
    }
    return null;
  }

  private ByteBuffer space(int slot) {
    return region.view(placement.offset(slot), placement.slotBytes());
  }
}
