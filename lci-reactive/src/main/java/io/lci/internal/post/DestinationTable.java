/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.am.Port;
import org.jspecify.annotations.Nullable;

/** Destinations by key; open addressing, nothing is ever removed. Loop only. */
final class DestinationTable {
  private long[] keys = new long[64];
  private @Nullable Destination[] values = new Destination[64];
  private int size;

  @Nullable Destination find(int kind, int device, int rank, int port) {
    long key = Destination.key(kind, device, rank, port);
    int mask = keys.length - 1;
    for (int i = slot(key, mask); ; i = (i + 1) & mask) {
      Destination found = values[i];
      if (found == null || keys[i] == key) {
        return found;
      }
    }
  }

  Destination get(int kind, int device, int rank, int port) {
    Destination found = find(kind, device, rank, port);
    return found != null ? found : add(new Destination(kind, device, rank, port));
  }

  /** That of active messages or replies to a port, whose name it keeps. */
  Destination get(int kind, int device, int rank, Port port) {
    Destination found = get(kind, device, rank, port.number());
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
    put(key(destination), destination);
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
        put(key(destination), destination);
      }
    }
  }

  private static long key(Destination of) {
    return Destination.key(of.kind, of.device, of.rank, of.port);
  }

  private static int slot(long key, int mask) {
    long mixed = key * 0x9E37_79B9_7F4A_7C15L;
    return (int) (mixed >>> 32) & mask;
  }
}
