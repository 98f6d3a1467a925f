/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kv;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * What a slot of a table holds, and how it is written so that a reader who copies it at any moment
 * knows whether the copy is whole: a checksum over all the rest. Nothing else tells two programs
 * that share memory without a lock.
 *
 * <p>Layout, little-endian: checksum 4, state 4, version 8, bytes of key 4, bytes of value 4, key,
 * value. A slot that was never used is zero.
 *
 * @param state what it is
 * @param entry of a live slot; else null
 */
record Slot(State state, @Nullable Entry entry) {
  /** What a copy of a slot is. */
  enum State {
    /** Never used: the search for a key ends here. */
    UNUSED,
    /** Has an entry. */
    LIVE,
    /** Had one: the search goes on. */
    REMOVED,
    /** Copied while it was written: look again. */
    TORN
  }

  /** Bytes before the key. */
  static final int HEADER = 24;

  private static final int STATE = 4;
  private static final int VERSION = 8;
  private static final int KEY_BYTES = 16;
  private static final int VALUE_BYTES = 20;

  private static final Slot NEVER = new Slot(State.UNUSED, null);
  private static final Slot GONE = new Slot(State.REMOVED, null);
  private static final Slot HALF = new Slot(State.TORN, null);

  /** Returns the entry of a live slot. */
  Entry live() {
    return Objects.requireNonNull(entry, "the slot has no entry");
  }

  /** Writes an entry. The space is the slot's, little-endian. */
  static void writeLive(ByteBuffer space, Entry entry) {
    write(space, State.LIVE, entry.version(), entry.key(), entry.value());
  }

  /** Writes that there is nothing any more. */
  static void writeRemoved(ByteBuffer space, long version) {
    write(space, State.REMOVED, version, "", new byte[0]);
  }

  private static void write(ByteBuffer space, State state, long version, String key, byte[] value) {
    byte[] name = key.getBytes(StandardCharsets.UTF_8);
    space.putInt(STATE, state.ordinal()).putLong(VERSION, version);
    space.putInt(KEY_BYTES, name.length).putInt(VALUE_BYTES, value.length);
    space.put(HEADER, name).put(HEADER + name.length, value);
    space.putInt(0, checksum(space, HEADER + name.length + value.length));
  }

  /** Reads a copy. Every byte of it may be anything. */
  static Slot read(byte[] copy) {
    ByteBuffer bytes = ByteBuffer.wrap(copy).order(ByteOrder.LITTLE_ENDIAN);
    if (bytes.getLong(0) == 0 && bytes.getLong(VERSION) == 0) {
      return NEVER;
    }
    int key = bytes.getInt(KEY_BYTES);
    int value = bytes.getInt(VALUE_BYTES);
    int room = copy.length - HEADER;
    if (key < 0 || key > room || value < 0 || value > room - key) {
      return HALF;
    }
    if (bytes.getInt(0) != checksum(bytes, HEADER + key + value)) {
      return HALF;
    }
    if (bytes.getInt(STATE) == State.REMOVED.ordinal()) {
      return GONE;
    }
    byte[] data = new byte[value];
    bytes.get(HEADER + key, data);
    String name = new String(copy, HEADER, key, StandardCharsets.UTF_8);
    return new Slot(State.LIVE, new Entry(name, bytes.getLong(VERSION), data));
  }

  private static int checksum(ByteBuffer space, int end) {
    CRC32C sum = new CRC32C();
    sum.update(space.duplicate().position(STATE).limit(end));
    return (int) sum.getValue();
  }
}
