/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.Op;
import io.lci.error.DeadlineExceededException;
import io.lci.error.LciException;
import io.lci.internal.core.Errors;
import io.lci.internal.core.Nanos;
import io.lci.internal.loop.LoopTask;
import io.lci.internal.loop.TimerRefusal;
import io.lci.nativebridge.Codes;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import reactor.core.Disposable;

/** The time that an operation has. */
final class Deadline {
  private Deadline() {}

  /**
   * Runs {@code passed} on the loop when the time is over; throws what the timer throws that takes
   * no task.
   */
  static Disposable start(Outbox outbox, Duration limit, LoopTask passed) {
    return outbox
        .core
        .timer()
        .schedule(() -> outbox.loop.execute(passed), Nanos.of(limit), TimeUnit.NANOSECONDS);
  }

  /** The time is over; {@code where} says how far the operation came. */
  static LciException passed(
      Outbox outbox, Destination target, Op op, String where, Duration limit) {
    return new DeadlineExceededException(
        outbox.failures.detail(
            target,
            "error_timeout",
            op + " was " + where + " when its deadline of " + limit + " passed"));
  }

  /** Where one is that waits for {@code target}; behind others, the reason is theirs. */
  static String parked(Destination target, int lastRetry) {
    int code = lastRetry == Codes.RETRY_ORDER ? target.reason : lastRetry;
    return "parked, last answer " + Errors.outcome(code).name().toLowerCase(Locale.ROOT);
  }

  /** Nobody would tell that the time is over. */
  static LciException refused(Outbox outbox, Destination target, Op op, Throwable reason) {
    return TimerRefusal.of(
        (code, hint) -> outbox.failures.detail(target, code, op + ": " + hint),
        outbox.core.timer(),
        reason);
  }
}
