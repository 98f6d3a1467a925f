/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.PeerEvent;
import io.lci.internal.core.Errors;
import io.lci.internal.lane.Lane;
import io.lci.internal.loop.Watched;
import io.lci.internal.post.Outbox;
import io.lci.nativebridge.Codes;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Waits until the devices of a loop have all that other ranks had written to them before given
 * positions. Loop only.
 */
final class Arrivals implements Watched {
  private record Expected(int device, int rank, int position) {}

  private final Lane lane;
  private final Absent absent;
  private final Consumer<@Nullable Throwable> arrived;
  private final Deque<Expected> expected = new ArrayDeque<>();

  /**
   * @param positions by rank and device of that rank; less than 0, or none: nothing was written
   * @param absent is told ranks of which nothing more comes
   * @param arrived called once, with null or what failed
   */
  Arrivals(
      Outbox outbox, long[][] positions, Absent absent, Consumer<@Nullable Throwable> arrived) {
    this.lane = outbox.lane;
    this.absent = absent;
    this.arrived = arrived;
    for (int device = 0; device < lane.deviceCount(); device++) {
      for (int rank = 0; rank < positions.length; rank++) {
        int number = lane.firstDevice() + device;
        if (number < positions[rank].length && positions[rank][number] >= 0) {
          expected.add(new Expected(device, rank, (int) positions[rank][number]));
        }
      }
    }
    outbox.loop.enterSoon(); // the loop looks after it
  }

  @Override
  public boolean isOver() {
    try {
      while (!expected.isEmpty()) {
        if (!hasArrived(expected.peek())) {
          return false;
        }
        expected.remove();
      }
    } catch (RuntimeException e) {
      arrived.accept(e);
      return true;
    }
    arrived.accept(null);
    return true;
  }

  private boolean hasArrived(Expected next) {
    int code = lane.delivered(next.device, next.rank, next.position);
    switch (code) {
      case Codes.RETRY -> {
        return false;
      }
      case Codes.ERR_PEER_LEFT -> absent.add(next.rank, PeerEvent.State.LEFT);
      case Codes.ERR_PEER_FAILED -> absent.add(next.rank, PeerEvent.State.FAILED);
      default ->
          Errors.check(lane.calls, code, "look at arrivals", lane.firstDevice() + next.device);
    }
    return true;
  }
}
