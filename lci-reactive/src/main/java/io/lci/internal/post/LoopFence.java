/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.internal.lane.Lane;
import io.lci.internal.lane.SlotTable;
import io.lci.internal.loop.Watched;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Waits until all that a loop had posted when this was made has ended and left: first what waits
 * for its destination, then what was posted, here and in the core. What is posted later is behind
 * it. Loop only.
 */
final class LoopFence implements Watched {
  private final Outbox outbox;
  private final Lane lane;
  private final Consumer<@Nullable Throwable> passed;
  private final int waiting;

  /** Contexts of what was posted, and how many of them are left to look at. */
  private long[] posted = {};

  private int postedLeft;

  /** A fence of the core for each device, and how many of them were passed; null before. */
  private long @Nullable [] inCore;

  private int passedInCore;

  /**
   * @param passed called once, with null or what failed
   */
  LoopFence(Outbox outbox, Consumer<@Nullable Throwable> passed) {
    this.outbox = outbox;
    this.lane = outbox.lane;
    this.passed = passed;
    this.waiting = outbox.beginFence();
    if (!outbox.holdsFence(waiting)) {
      inCore = enterCore();
    }
    outbox.loop.enterSoon(); // the loop looks after it
  }

  @Override
  public boolean isOver() {
    try {
      if (!look()) {
        return false;
      }
    } catch (RuntimeException e) {
      passed.accept(e);
      return true;
    }
    passed.accept(null);
    return true;
  }

  private boolean look() {
    if (inCore == null) {
      if (outbox.holdsFence(waiting)) {
        return false;
      }
      inCore = enterCore();
    }
    return haveEnded() && havePassed(inCore);
  }

  /** What was posted is known by now. */
  private long[] enterCore() {
    posted = outbox.slots.beforeFence();
    postedLeft = posted.length;
    long[] fences = new long[lane.deviceCount()];
    for (int device = 0; device < fences.length; device++) {
      fences[device] = lane.fence(device);
    }
    outbox.loop.enterSoon(); // what other threads had left for the devices moves now
    return fences;
  }

  private boolean haveEnded() {
    SlotTable slots = outbox.slots;
    while (postedLeft > 0 && !slots.holdsFence(posted[postedLeft - 1])) {
      postedLeft--;
    }
    return postedLeft == 0;
  }

  private boolean havePassed(long[] fences) {
    while (passedInCore < fences.length && lane.isPassed(passedInCore, fences[passedInCore])) {
      passedInCore++;
    }
    return passedInCore == fences.length;
  }
}
