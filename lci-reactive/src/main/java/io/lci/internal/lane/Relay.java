/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.lane;

import io.lci.am.Message;
import io.lci.completion.Completion;
import io.lci.internal.core.CoreGate;
import io.lci.internal.core.Errors;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.Layout;
import io.lci.nativebridge.NativeScratch;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Passes the signal of an operation that kept its slot on to a completion target. In a target that
 * may be full the operation has had a place since it was written. Loop only. [D4]
 */
public final class Relay {
  private final CoreGate core;
  private final Lane lane;
  private final Consumer<Throwable> uncaught;
  private final NativeScratch status = new NativeScratch(Layout.STATUS_SIZE / Long.BYTES);

  /** Wakes what waits for a place in the heap. Any thread. */
  private final Runnable placeFreed;

  /** Where the next signal has its place; null while none has. */
  private @Nullable PlaceTarget place;

  public Relay(CoreGate core, Lane lane, Consumer<Throwable> uncaught, Runnable placeFreed) {
    this.core = core;
    this.lane = lane;
    this.uncaught = uncaught;
    this.placeFreed = placeFreed;
  }

  /** There may be a place in a target that refused one to this loop. Any thread. */
  public void placeFreed() {
    placeFreed.run();
  }

  /**
   * As {@link PlaceTarget#reserve}: the generation of the device moves when there may be a place.
   */
  int reserve(SignalTarget target, int device) {
    return (int)
        inCore(target, () -> lane.calls.compReserve(target.handle(), lane.deviceHandle(device)));
  }

  /** Gives back a place whose operation signals nothing. */
  void giveBack(SignalTarget target) {
    lane.calls.compUnreserve(target.handle()); // the place keeps the object
  }

  /** The signal that comes before {@link #signalled()}, if one comes, takes this place. */
  void signalsNextIn(@Nullable PlaceTarget target) {
    place = target;
  }

  void signalled() {
    PlaceTarget unused = place;
    if (unused != null) {
      place = null;
      unused.giveBack(this);
    }
  }

  /** Returns whether the target keeps the message. */
  public boolean tell(HeapTarget target, Completion completion) {
    boolean reserved = target == place;
    if (reserved) {
      place = null;
    }
    return target.ended(completion, reserved);
  }

  /** Returns whether the object keeps the message. */
  public boolean signal(
      SignalTarget target,
      int code,
      int userContext,
      @Nullable Message message,
      int rank,
      long tag,
      int size) {
    int kept = target.keep(message);
    write(code, userContext, kept, rank, tag, size);
    int result = (int) give(target);
    if (Codes.isError(result)) {
      target.refused(kept);
      if (target.isDisposed()) {
        return false;
      }
      uncaught.accept(
          new IllegalStateException(
              "signal of a completion object: " + Errors.name(lane.calls, result)));
    }
    return kept != 0 && !Codes.isError(result);
  }

  private void write(int code, int userContext, int kept, int rank, long tag, int size) {
    status.putLong(Layout.STATUS_CODE / 8, (code & 0xFFFF_FFFFL) | (long) rank << 32);
    status.putLong(Layout.STATUS_TAG / 8, tag);
    status.putLong(Layout.STATUS_BUFFER / 8, 0);
    status.putLong(Layout.STATUS_SIZE_FIELD / 8, size);
    status.putLong(Layout.STATUS_CONTEXT / 8, (kept & 0xFFFF_FFFFL) | (long) userContext << 32);
    status.putLong(Layout.STATUS_PORT / 8, 0);
  }

  private long give(SignalTarget target) {
    if (target != place) {
      return inCore(target, () -> lane.calls.compSignal(target.handle(), status.address(0)));
    }
    if (target.isDisposed()) {
      return Codes.ERR_CLOSED; // its place is given back
    }
    place = null;
    return lane.calls.compSignalReserved(target.handle(), status.address(0));
  }

  /** Another loop may dispose of the object meanwhile. */
  private long inCore(SignalTarget target, LongSupplier call) {
    return core.with(
        () -> target.isDisposed() ? Codes.ERR_CLOSED : call.getAsLong(), Codes.ERR_CLOSED);
  }
}
