/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.error.LciClosedException;
import io.lci.error.LciException;
import io.lci.error.LciException.Detail;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.BiFunction;

/** What whoever waits for a time is told if the timer of the options does not take it. */
public final class TimerRefusal {
  private TimerRefusal() {}

  /**
   * The error of a time that nobody would tell of.
   *
   * @param detail makes what failed of a code and a hint
   * @param reason what the timer threw
   * @return {@link LciClosedException} if the timer was disposed; else, of a scheduler of the
   *     user's own, with the code {@code error_argument}
   */
  public static LciException of(
      BiFunction<String, String, Detail> detail, RuntimeException reason) {
    LciException error =
        reason instanceof RejectedExecutionException
            ? new LciClosedException(
                detail.apply("error_closed", "the timer takes no deadline, it was disposed"))
            : new LciException(
                detail.apply("error_argument", "the timer takes no deadline: " + reason));
    error.initCause(reason);
    return error;
  }
}
