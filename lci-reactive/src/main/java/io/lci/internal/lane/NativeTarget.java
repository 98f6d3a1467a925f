/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.lane;

import io.lci.completion.CompletionTarget;
import io.lci.internal.core.CoreRuntime;

/** A completion object of the core behind a public one. */
public interface NativeTarget extends CompletionTarget, SignalTarget {
  /** Throws if {@code target} is not of {@code core}. */
  static NativeTarget of(CoreRuntime core, CompletionTarget target) {
    if (!(target instanceof NativeTarget known && known.core() == core)) {
      throw new IllegalArgumentException("not a completion object of this runtime: " + target);
    }
    return known;
  }

  /** The runtime that it belongs to. */
  CoreRuntime core();
}
