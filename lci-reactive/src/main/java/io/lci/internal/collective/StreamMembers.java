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

  /** Why nothing can be subscribed any more, or null. Any thread. */
  @Nullable RuntimeException refusal(String operation);

  /** A context for the calls of a stream; the same on all members. Loop only. */
  StreamCalls calls(long number);

  /** A stream begins, unless this throws. Loop only. */
  void streamBegan(String operation);

  /** A stream that began has ended. Loop only. */
  void streamEnded();
}
