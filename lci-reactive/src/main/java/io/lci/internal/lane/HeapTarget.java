/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.lane;

import io.lci.completion.Completion;
import io.lci.internal.core.CoreRuntime;

/**
 * A completion target that the core does not know: the loop of an operation tells it of its end.
 */
public interface HeapTarget extends PlaceTarget {
  /** The runtime that it belongs to. */
  CoreRuntime core();

  /**
   * A posted operation ended. Called on its loop, once; may be another one than the target's.
   *
   * @param reserved whether the operation has a place here, which is the target's to give back
   * @return whether it keeps the message
   */
  boolean ended(Completion completion, boolean reserved);

  /** Whether it shows failures; else they are told elsewhere. */
  boolean takesFailures();
}
