/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kv;

import java.nio.charset.StandardCharsets;

/**
 * Where keys are: which rank owns one, and at which slot of its table the search begins. The same
 * on every rank.
 *
 * @param ranks ranks of the job
 * @param slots slots of each rank's table at which a search may begin
 * @param slotBytes bytes of a slot
 */
record Placement(int ranks, int slots, int slotBytes) {
  /** Most bytes of a key in UTF-8. */
  static final int MAX_KEY = 255;

  /** A key is in one of so many slots, beginning at its own. */
  static final int PROBES = 8;

  /** Most slots at which a search may begin. */
  static final int MAX_SLOTS = 1 << 30;

  Placement {
    if (slots < 1
        || slots > MAX_SLOTS
        || slotBytes < Slot.HEADER + MAX_KEY + 1
        || slotBytes % Long.BYTES != 0) {
      throw new IllegalArgumentException(
          "a table needs slots, each of a multiple of 8 bytes and at least "
              + (Slot.HEADER + MAX_KEY + 1));
    }
  }

  int owner(String key) {
    return (int) Long.remainderUnsigned(hash(key) >>> 32, ranks);
  }

  int firstSlot(String key) {
    return (int) Long.remainderUnsigned(hash(key) & 0xFFFF_FFFFL, slots);
  }

  long offset(int slot) {
    return (long) slot * slotBytes;
  }

  /** The last searches go past the last first slot, not round. */
  long tableBytes() {
    return offset(slots + PROBES - 1);
  }

  /** Most bytes of the value of a key. */
  int maxValue(String key) {
    return slotBytes - Slot.HEADER - key.getBytes(StandardCharsets.UTF_8).length;
  }

  /** An entry that a slot can hold, also from whoever did not ask {@link #maxValue} before. */
  Entry checked(Entry entry) {
    int room = maxValue(entry.key());
    int key = slotBytes - Slot.HEADER - room;
    if (key < 1 || key > MAX_KEY || entry.value().length > room) {
      throw new IllegalArgumentException(
          "no slot holds a key of " + key + " bytes with a value of " + entry.value().length);
    }
    return entry;
  }

  /** FNV-1a, mixed once more so that both halves are good. */
  private static long hash(String key) {
    long hash = 0xCBF2_9CE4_8422_2325L;
    for (byte b : key.getBytes(StandardCharsets.UTF_8)) {
      hash = (hash ^ (b & 0xFF)) * 0x100_0000_01B3L;
    }
    hash = (hash ^ (hash >>> 33)) * 0xFF51_AFD7_ED55_8CCDL;
    return hash ^ (hash >>> 33);
  }
}
