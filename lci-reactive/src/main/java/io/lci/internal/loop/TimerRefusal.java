/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import io.lci.error.LciClosedException;
import io.lci.error.LciException;
import io.lci.error.LciException.Detail;
import io.lci.internal.core.Thrown;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.BiFunction;
import reactor.core.scheduler.Scheduler;

/** What whoever waits for a time is told if the timer of the options does not take it. */
public final class TimerRefusal {
  private TimerRefusal() {}

  /**
   * The error of a time that nobody would tell of.
   *
   * @param detail makes what failed of a code and a hint
   * @param timer the timer
   * @param reason what it threw
   * @return {@link LciClosedException} if the timer was disposed; else, of one that is full, cannot
   *     wait, or is the user's own, with the code {@code error_argument}
   */
  public static LciException of(
      BiFunction<String, String, Detail> detail, Scheduler timer, Throwable reason) {
    LciException error =
        reason instanceof RejectedExecutionException && timer.isDisposed()
            ? new LciClosedException(
                detail.apply("error_closed", "the timer takes no deadline, it was disposed"))
            : new LciException(
                detail.apply(
                    "error_argument", "the timer takes no deadline: " + Thrown.text(reason)));
    error.initCause(reason);
    return error;
  }
}
