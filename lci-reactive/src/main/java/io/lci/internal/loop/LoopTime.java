/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import java.util.Map;

/**
 * Where the time of a loop goes. A turn lasts until the next one begins, so that it costs no look
 * at the clock besides the one that every turn takes. Written by the loop, read by snapshots
 * without order.
 */
public final class LoopTime {
  private long turnBegan;
  private boolean inTurn;
  private boolean worked;

  private long busy;
  private long polling;
  private long parked;

  /** A turn begins at {@code now}, and with it ends the one before. */
  public void turn(long now) {
    end(now);
    inTurn = true;
    worked = true; // until it says otherwise: it may throw
    turnBegan = now;
  }

  /** The turn found so much to do; it lasts until the next one. */
  public int found(int work) {
    worked = work > 0;
    return work;
  }

  /** The thread slept from {@code from} to {@code to}, and the turn before ended then. */
  public void slept(long from, long to) {
    end(from);
    parked += to - from;
  }

  /** Nobody saw the last turn's end, and what came after it was no part of it. */
  public void forget() {
    inTurn = false;
  }

  /** The turn is over: its loop is not driven by its own thread, and what follows is no part. */
  public void end(long now) {
    if (!inTurn) {
      return;
    }
    inTurn = false;
    long time = now - turnBegan;
    if (worked) {
      busy += time;
    } else {
      polling += time;
    }
  }

  public void count(Map<String, Long> into) {
    into.merge("loop_nanos_busy", busy, Long::sum);
    into.merge("loop_nanos_polling", polling, Long::sum);
    into.merge("loop_nanos_parked", parked, Long::sum);
  }
}
