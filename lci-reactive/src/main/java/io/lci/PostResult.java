/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import io.lci.completion.Completion;
import io.lci.error.LciException;
import org.jspecify.annotations.Nullable;

/**
 * The result of one element of a bulk operator. Failure is data: the stream goes on.
 *
 * @param item the element
 * @param rank its destination; of a receive, the source
 * @param outcome how it was accepted: never a retry; {@code DONE} too when {@code error} is set and
 *     it was never accepted
 * @param error null if it succeeded
 * @param completion how the operation ended, with the message of a receive or get; null if it
 *     failed, and always null from {@link io.lci.am.Sender#route}
 * @param <T> type of element
 * @since 0.1
 */
public record PostResult<T>(
    T item,
    int rank,
    PostOutcome outcome,
    @Nullable LciException error,
    @Nullable Completion completion) {
  /** {@return whether the operation succeeded} */
  public boolean isSuccess() {
    return error == null;
  }
}
