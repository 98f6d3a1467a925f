/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.lane;

import io.lci.nativebridge.NativeMemory;
import org.jspecify.annotations.Nullable;

/** Takes the messages of one place of a lane. Loop only. */
public interface MessageSink {
  void message(RecordView view);

  /** Memory in which messages lie that are not in the lane. */
  @Nullable NativeMemory store();

  /** Ends it with an error. */
  void close(@Nullable RuntimeException reason);
}
