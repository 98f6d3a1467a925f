/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.completion;

import io.lci.am.Message;
import io.lci.error.LciException;
import org.jspecify.annotations.Nullable;

/**
 * The end of an operation, or an arrival at a completion object. Immutable.
 *
 * @param kind operation or arrival
 * @param rank peer of an operation, source of an arrival
 * @param tag tag, as posted or as received; of an atomic operation that succeeded, the value before
 * @param size bytes moved
 * @param message the message that arrived, or the bytes of a receive or get without a buffer of its
 *     own; else null, and always null at synchronizers, which keep no messages
 * @param error null if it succeeded; told to completion targets only, a Mono fails instead
 * @param userContext as given by {@link io.lci.Op#userContext}; 0 for arrivals
 * @since 0.1
 */
public record Completion(
    Kind kind,
    int rank,
    long tag,
    long size,
    @Nullable Message message,
    @Nullable LciException error,
    int userContext) {
  /** The kind of event that a completion reports. */
  public enum Kind {
    /** An operation of this rank ended. */
    OPERATION,
    /** A message arrived. */
    ARRIVAL
  }
}
