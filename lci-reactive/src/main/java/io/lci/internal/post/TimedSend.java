/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.am.Encoder;
import io.lci.am.Payload;
import io.lci.error.LciException;
import io.lci.internal.lane.PostWriter;
import io.lci.nativebridge.Codes;
import java.time.Duration;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/**
 * Sends elements as active messages of which each has a deadline, and so a timer and a state of its
 * own.
 *
 * @param <T> element
 */
final class TimedSend<T> extends SendElements<T> {
  private final Duration deadline;
  private final Live live = new Live();

  TimedSend(
      BulkRun<T, ?> run,
      SenderImpl sender,
      int fixedRank,
      @Nullable ToIntFunction<? super T> router,
      Encoder<? super T> encoder,
      Duration deadline) {
    super(run, sender, fixedRank, router, encoder);
    this.deadline = deadline;
  }

  @Override
  void submit(T item, int rank) {
    live.enter(live.attempt(item, sender.message(rank, Payload.empty())), deadline);
  }

  @Override
  void withdraw() {
    live.cancelAll();
  }

  @Override
  void withdrawWaiting() {
    live.cancelWaiting();
  }

  /** Messages whose payloads are what the encoder writes. */
  private final class Live extends LiveElements<T> {
    Live() {
      super(TimedSend.this.run);
    }

    @Override
    int sizeHint(OpAttempt<?> attempt) {
      return hint(item(attempt));
    }

    @Override
    int write(OpAttempt<?> attempt, PostWriter out) {
      TimedSend.this.write(item(attempt), out);
      return out.size();
    }

    @Override
    void over(OpAttempt<?> attempt, T item) {
      RuntimeException reason = attempt.failure();
      int rank = attempt.op.rank();
      if (reason != null) {
        LciException error = run.known(reason, rank, sender.port().number(), attempt.op.device());
        report(item, rank, Codes.DONE, error);
      } else if (attempt.takeCompletion() != null) {
        report(item, rank, attempt.acceptedAs(), null);
      } else {
        run.gone();
      }
    }
  }
}
