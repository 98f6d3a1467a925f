/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.lane;

import io.lci.LciInstrumentation;
import io.lci.Op;
import io.lci.internal.core.Observer;
import org.jspecify.annotations.Nullable;

/**
 * Times one operation in {@link LciInstrumentation#TIMED_EVERY}, so that the others pay for no look
 * at the clock. A batch is never longer than that, so it has at most one. Loop only.
 */
public final class OperationTimes {
  private static final int MASK = LciInstrumentation.TIMED_EVERY - 1;

  private final Observer observer;

  /** The one that is timed in the current batch. */
  private Op.@Nullable Kind kind;

  private int index;
  private int device;
  private long since;

  public OperationTimes(Observer observer) {
    this.observer = observer;
  }

  /** Whether the descriptor with this number, counted from 1, is timed. */
  public static boolean isTimed(long number) {
    return (number & MASK) == 0;
  }

  /** The descriptor at {@code batchIndex} is written. */
  public void written(int batchIndex, Op.@Nullable Kind what, int ofDevice) {
    kind = what;
    index = batchIndex;
    device = ofDevice;
    since = System.nanoTime();
  }

  /** It was done, or posted in {@code slot}; one that has no slot signals elsewhere. */
  public void accepted(int batchIndex, boolean done, int slot, SlotTable slots) {
    Op.Kind what = kind;
    if (what == null || batchIndex != index) {
      return;
    }
    if (done) {
      ended(what, device, since);
    } else if (slot != SlotTable.NONE) {
      slots.time(slot, what, device, since);
    }
  }

  /** What was not accepted is not timed. */
  public void batchEnded() {
    kind = null;
  }

  void ended(Op.Kind what, int ofDevice, long from) {
    observer.operationTimed(what, ofDevice, System.nanoTime() - from);
  }
}
