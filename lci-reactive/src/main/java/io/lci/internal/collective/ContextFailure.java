/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.internal.core.CoreRuntime;
import io.lci.internal.core.Errors;
import io.lci.internal.lane.CallNames;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.Layout;
import io.lci.nativebridge.NativeScratch;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * Why a context failed, as the core keeps it.
 *
 * @param rank because of which it failed
 */
record ContextFailure(int code, int rank, int cause, ByteBuffer frame) {

  /** Null if it has not failed, or the core is closed. */
  static @Nullable ContextFailure of(CoreRuntime core, long context) {
    NativeScratch out = new NativeScratch(Layout.FAILURE_SIZE / Long.BYTES);
    long code =
        core.gate.with(() -> core.calls.contextFailure(context, out.address(0)), Codes.RETRY);
    if (code != Codes.DONE) {
      return null;
    }
    ByteBuffer frame = out.buffer();
    int cause = frame.getInt(Layout.FAILURE_CAUSE);
    int rank = Revocation.rank(cause, frame.getInt(Layout.FAILURE_RANK));
    return new ContextFailure(frame.getInt(Layout.FAILURE_CODE), rank, cause, frame);
  }

  /** What its code alone does not say. */
  String hint(CoreRuntime core) {
    return switch (code) {
      case Codes.ERR_MISMATCH ->
          "rank " + mismatched(0) + ", rank " + mismatched(1) + "; all members make the same calls";
      case Codes.ERR_COLLECTIVE -> Revocation.hint(core.calls, cause);
      default -> Errors.hint(code);
    };
  }

  /** One of the two that differ, and what it called. */
  private String mismatched(int which) {
    int call = call(which);
    return frame.getInt(Layout.FAILURE_RANKS + which * Integer.BYTES)
        + " called "
        + CallNames.call(
            frame.get(call + Layout.CALL_KIND),
            frame.getInt(call + Layout.CALL_ROOT),
            frame.get(call + Layout.CALL_OP),
            frame.get(call + Layout.CALL_TYPE),
            frame.get(call + Layout.CALL_ALGORITHM),
            frame.getLong(call + Layout.CALL_COUNT))
        + list(which);
  }

  private static int call(int which) {
    return Layout.FAILURE_CALLS + which * Layout.CALL_SIZE;
  }

  /** Of a list of counts the core knows whether it is the same. */
  private String list(int which) {
    long hash = frame.getLong(call(which) + Layout.CALL_HASH);
    long first = frame.getLong(call(0) + Layout.CALL_HASH);
    if (hash == 0) {
      return "";
    }
    return first == 0 || first == hash ? " by a list of counts" : " by another list of counts";
  }
}
