/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.Op;
import io.lci.am.Encoder;
import io.lci.am.Payload;
import io.lci.am.SendResult;
import io.lci.error.LciException;
import io.lci.internal.lane.PostWriter;
import io.lci.nativebridge.Codes;
import java.time.Duration;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;

/**
 * Sends elements as active messages of which each has a deadline, and so a timer and a state of its
 * own.
 *
 * @param <T> element
 * @param <R> what the subscriber gets: {@link SendResult}, or nothing
 */
final class TimedSend<T, R> extends SendRun<T, R> {
  private final Duration deadline;

  private final ElementAttempt.Live<T> live = new ElementAttempt.Live<>();

  TimedSend(
      SenderImpl sender,
      CoreSubscriber<? super R> actual,
      int fixedRank,
      @Nullable ToIntFunction<? super T> router,
      Encoder<? super T> encoder,
      Duration deadline) {
    super(sender, actual, fixedRank, router, encoder);
    this.deadline = deadline;
  }

  @Override
  void submit(T item, int rank) {
    new Element(item, sender.message(rank, Payload.empty())).enter();
  }

  @Override
  void withdraw() {
    for (ElementAttempt<T> element : live.all()) {
      element.cancel();
    }
  }

  @Override
  void withdrawWaiting() {
    for (ElementAttempt<T> element : live.all()) {
      if (!element.isPosted()) {
        element.cancel();
      }
    }
  }

  /** One message: its payload is what the encoder writes. */
  private final class Element extends ElementAttempt<T> {
    Element(T item, Op op) {
      super(TimedSend.this, live, item, op, deadline);
    }

    @Override
    public int sizeHint(Object ignored) {
      return hint(item);
    }

    @Override
    int write(PostWriter out) {
      TimedSend.this.write(item, out);
      return out.size();
    }

    @Override
    void over() {
      RuntimeException reason = failure();
      if (reason != null) {
        LciException error = known(reason, op.rank(), sender.port().number(), op.device());
        report(item, op.rank(), Codes.DONE, error);
      } else if (takeCompletion() != null) {
        report(item, op.rank(), acceptedAs(), null);
      } else {
        gone();
      }
    }
  }
}
