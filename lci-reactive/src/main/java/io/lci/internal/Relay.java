/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.am.Message;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.Layout;
import io.lci.nativebridge.NativeScratch;
import org.jspecify.annotations.Nullable;

/** Passes the signal of an operation that kept its slot on to a completion object. Loop only. */
final class Relay {
  private final EventLoop loop;
  private final Lane lane;
  private final NativeScratch status = new NativeScratch(Layout.STATUS_SIZE / Long.BYTES);

  Relay(EventLoop loop, Lane lane) {
    this.loop = loop;
    this.lane = lane;
  }

  /** Returns whether the object keeps the message. */
  boolean signal(
      NativeTarget target,
      int code,
      int userContext,
      @Nullable Message message,
      int rank,
      long tag,
      int size) {
    int kept = target.keep(message);
    status.putLong(Layout.STATUS_CODE / 8, (code & 0xFFFF_FFFFL) | (long) rank << 32);
    status.putLong(Layout.STATUS_TAG / 8, tag);
    status.putLong(Layout.STATUS_BUFFER / 8, 0);
    status.putLong(Layout.STATUS_SIZE_FIELD / 8, size);
    status.putLong(Layout.STATUS_CONTEXT / 8, (kept & 0xFFFF_FFFFL) | (long) userContext << 32);
    status.putLong(Layout.STATUS_PORT / 8, 0);
    // It may have gone, or go now, on another loop
    int result =
        (int)
            loop.runtime()
                .core
                .with(
                    () ->
                        target.isDisposed()
                            ? Codes.ERR_CLOSED
                            : lane.calls.compSignal(target.handle(), status.address(0)),
                    Codes.ERR_CLOSED);
    if (Codes.isError(result)) {
      target.refused(kept);
      if (target.isDisposed()) {
        return false;
      }
      loop.uncaught(
          new IllegalStateException(
              "signal of a completion object: " + Errors.name(lane.calls, result)));
    }
    loop.enterSoon();
    return kept != 0 && !Codes.isError(result);
  }
}
