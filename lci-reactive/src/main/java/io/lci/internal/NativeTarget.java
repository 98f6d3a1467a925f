/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.am.Message;
import io.lci.completion.CompletionTarget;
import org.jspecify.annotations.Nullable;

/** A completion object of the core behind a public one. */
interface NativeTarget extends CompletionTarget {
  /** Throws if {@code target} is not of {@code runtime}. */
  static NativeTarget of(RuntimeImpl runtime, CompletionTarget target) {
    if (!(target instanceof NativeTarget known && known.runtime() == runtime)) {
      throw new IllegalArgumentException("not a completion object of this runtime: " + target);
    }
    return known;
  }

  /** Its identifier in descriptors and records. */
  int id();

  /** Its handle. */
  long handle();

  /** The runtime that it belongs to. */
  RuntimeImpl runtime();

  /** Whether it went, or is about to go: its handle is used inside the core's gate only. */
  boolean isDisposed();

  /**
   * Keeps what an operation brought until its status is taken.
   *
   * @return what to put beside the user context of the status; 0 if nothing is kept
   */
  default int keep(@Nullable Message message) {
    return 0;
  }

  /** The status of what was kept did not get in. */
  default void refused(int kept) {}
}
