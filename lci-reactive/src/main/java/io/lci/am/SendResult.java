/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.am;

import io.lci.PostOutcome;
import io.lci.error.LciException;
import org.jspecify.annotations.Nullable;

/**
 * What became of one element of a bulk send. Failure is data: the stream goes on.
 *
 * @param item the element
 * @param rank its destination
 * @param outcome how it was accepted: never a retry; {@code DONE} too when {@code error} is set and
 *     it was never accepted
 * @param error null if it was sent
 * @param <T> type of element
 */
public record SendResult<T>(T item, int rank, PostOutcome outcome, @Nullable LciException error) {
  /** Returns whether the element was sent. */
  public boolean isSuccess() {
    return error == null;
  }
}
