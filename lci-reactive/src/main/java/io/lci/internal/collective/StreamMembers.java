/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.collective.Group;
import org.jspecify.annotations.Nullable;

/** A context of a group, as its streams see it. */
public interface StreamMembers {
  /** Equal on all members, and of no other context. */
  long id();

  /** The number of the device that it goes by. */
  int device();

  Group group();

  /**
   * A stream is subscribed to, and {@link #left} follows, unless this returns why not. Any thread.
   */
  @Nullable RuntimeException subscribed(String operation);

  /** The stream has ended, or never begins. Before {@link #streamEnded}. Loop only. */
  void left();

  /** A context for the calls of a stream; the same on all members. Loop only. */
  StreamCalls calls(long number);

  /** A stream begins, unless this throws. Loop only. */
  void streamBegan(String operation);

  /** A stream that began has ended. Loop only. */
  void streamEnded();
}
