/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.Op;
import io.lci.am.Encoder;
import io.lci.am.Payload;
import io.lci.am.SendResult;
import io.lci.error.LciException;
import io.lci.nativebridge.Codes;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
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

  /** Under way: parked, posted, or in the array. At most a window full. */
  private final Set<Element> live = new LinkedHashSet<>();

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
    Element element = new Element(item, sender.message(rank, Payload.empty()));
    live.add(element);
    element.start();
  }

  @Override
  void withdraw() {
    for (Element element : List.copyOf(live)) {
      element.cancel();
    }
  }

  @Override
  void withdrawWaiting() {
    for (Element element : List.copyOf(live)) {
      if (!element.isPosted()) {
        element.cancel();
      }
    }
  }

  /** One message: its end is a result instead of signals, its payload what the encoder writes. */
  private final class Element extends OpAttempt<Object> {
    private final T item;

    @SuppressWarnings("unchecked") // nothing is emitted to it
    Element(T item, Op op) {
      super(
          TimedSend.this.loop,
          (CoreSubscriber<Object>) (CoreSubscriber<?>) TimedSend.this.actual,
          op,
          deadline);
      this.item = item;
    }

    @Override
    void drain() {} // the operator has the signals

    @Override
    public Drainable drainable() {
      return TimedSend.this;
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
    public boolean wants(Object ignored) {
      return isWanting() && super.wants(ignored);
    }

    @Override
    void ended() {
      live.remove(this);
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

    @Override
    void withdrawn() {
      discard(item);
    }
  }
}
