/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.am.Port;
import org.jspecify.annotations.Nullable;

/** Destinations by key; open addressing, nothing is ever removed. Loop only. */
final class DestinationTable {
  private long[] keys = new long[64];
  private @Nullable Destination[] values = new Destination[64];
  private int size;

  @Nullable Destination find(int kind, int rank, int port) {
    long key = Destination.key(kind, rank, port);
    int mask = keys.length - 1;
    for (int i = slot(key, mask); ; i = (i + 1) & mask) {
      Destination found = values[i];
      if (found == null || keys[i] == key) {
        return found;
      }
    }
  }

  Destination get(int kind, int rank, int port) {
    Destination found = find(kind, rank, port);
    return found != null ? found : add(new Destination(kind, rank, port));
  }

  /** That of active messages or replies to a port, whose name it keeps. */
  Destination get(int kind, int rank, Port port) {
    Destination found = get(kind, rank, port.number());
    if (found.named == null) {
      found.named = port;
    }
    return found;
  }

  /**
   * All slots; some are null. Snapshots look at them from other threads, and may miss the newest.
   */
  @Nullable Destination[] slots() {
    return values;
  }

  private Destination add(Destination destination) {
    if (++size * 2 > keys.length) {
      grow();
    }
    put(Destination.key(destination.kind, destination.rank, destination.port), destination);
    return destination;
  }

  private void put(long key, Destination destination) {
    int mask = keys.length - 1;
    int i = slot(key, mask);
    while (values[i] != null) {
      i = (i + 1) & mask;
    }
    keys[i] = key;
    values[i] = destination;
  }

  private void grow() {
    @Nullable Destination[] old = values;
    keys = new long[old.length * 2];
    values = new Destination[old.length * 2];
    for (Destination destination : old) {
      if (destination != null) {
        put(Destination.key(destination.kind, destination.rank, destination.port), destination);
      }
    }
  }

  private static int slot(long key, int mask) {
    long mixed = key * 0x9E37_79B9_7F4A_7C15L;
    return (int) (mixed >>> 32) & mask;
  }
}
