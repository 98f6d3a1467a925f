/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.error.LciException;
import io.lci.error.LciException.Detail;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.core.Errors;
import io.lci.internal.lane.CollectiveKind;
import io.lci.nativebridge.Codes;
import org.jspecify.annotations.Nullable;

/**
 * Why calls of a context fail: what the core knows, and what only this runtime does. Any thread.
 */
final class ContextErrors {
  private final CoreRuntime core;
  private final long context;
  private final int device;

  /** Why this rank refuses calls that the core would take, or null. The first one stays. */
  private volatile @Nullable Revocation revoked;

  /**
   * @param context of the core
   */
  ContextErrors(CoreRuntime core, long context, int device) {
    this.core = core;
    this.context = context;
    this.device = device;
  }

  void add(Revocation by) {
    if (revoked == null) {
      revoked = by;
    }
  }

  boolean refuse() {
    return revoked != null;
  }

  /** Null if it has not failed. */
  @Nullable LciException known(CollectiveKind call) {
    ContextFailure known = ContextFailure.of(core, context);
    Revocation by = revoked;
    if (by != null && (known == null || known.code() == Codes.ERR_COLLECTIVE)) {
      return of(call, Codes.ERR_COLLECTIVE, by.rank(), by.hint());
    }
    return known == null ? null : of(call, known.code(), known.rank(), known.hint(core));
  }

  LciException of(CollectiveKind call, int code, int rank, String hint) {
    String name = Errors.name(core.calls, code);
    return Errors.of(
        new Detail(call.operation(), rank, LciException.NONE, device, name, hint), code);
  }

  /** Whether it is about an argument. */
  boolean isArgument(RuntimeException reason) {
    return reason instanceof LciException e
        && e.code().equals(Errors.name(core.calls, Codes.ERR_ARGUMENT));
  }
}
