package io.lci.internal;

import io.lci.nativebridge.Layout;

/**
 * The packets a loop may fill: the lane's cache, and those that a refused post gave back. One batch takes at most as many
 * as the cache holds, so that what is given back always finds room. Loop only.
 */
final class Packets {
  static final int NONE = -1;

  private final Lane lane;
  private final int[] spare = new int[Layout.CONTROL_PACKETS_COUNT];
  private int spareCount;
  private int taken;

  Packets(Lane lane) {
    this.lane = lane;
  }

  boolean isEmpty() {
    return taken >= spare.length || (spareCount == 0 && lane.cachedPackets() == 0);
  }

  int take() {
    if (isEmpty()) {
      return NONE;
    }
    taken++;
    return spareCount > 0 ? spare[--spareCount] : lane.takeCachedPacket();
  }

  void give(int packet) {
    taken--;
    spare[spareCount++] = packet;
  }

  /** The batch has been sent and its refused packets were given back. */
  void batchEnded() {
    taken = 0;
  }

  /** Packets held and not in the lane's cache. */
  int held() {
    return spareCount;
  }
}
