/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.lane;

/**
 * The packets a loop may fill: the lane's cache. What a refused post gives back goes there again,
 * and one batch takes so few that it always fits, whatever the core put in meanwhile. Loop only.
 */
public final class Packets {
  public static final int NONE = -1;

  /** The core fills the cache up to 16 of its 31 places. */
  private static final int MOST_PER_BATCH = 15;

  private final Lane lane;
  private int taken;

  public Packets(Lane lane) {
    this.lane = lane;
  }

  public boolean isEmpty() {
    return taken >= MOST_PER_BATCH || lane.cachedPackets() == 0;
  }

  int take() {
    if (isEmpty()) {
      return NONE;
    }
    taken++;
    return lane.takeCachedPacket();
  }

  public void give(int packet) {
    taken--;
    lane.giveCachedPacket(packet);
  }

  /** The batch has been sent, and its refused packets were given back. */
  public void batchEnded() {
    taken = 0;
  }
}
