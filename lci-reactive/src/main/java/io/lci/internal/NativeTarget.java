/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.completion.CompletionTarget;

/** A completion object of the core behind a public one. */
interface NativeTarget extends CompletionTarget {
  /** Its identifier in descriptors and records. */
  int id();

  /** Its handle. */
  long handle();
}
