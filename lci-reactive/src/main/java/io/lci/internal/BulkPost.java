/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.Op;
import io.lci.PostOptions;
import io.lci.PostOutcome;
import io.lci.am.SendResult;
import io.lci.completion.Completion;
import io.lci.error.LciException;
import io.lci.error.LciException.Detail;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.Exceptions;

/**
 * Posts an operation for each element, a window of them at a time.
 *
 * @param <T> element
 */
final class BulkPost<T> extends BulkRun<T, SendResult<T>> {
  private final Posting posting;
  private final Function<? super T, Op> operations;
  private final @Nullable Duration deadline;

  /** Under way: parked, posted, or in the array. At most a window full. */
  private final Set<Element> live = new LinkedHashSet<>();

  BulkPost(
      EventLoop loop,
      CoreSubscriber<? super SendResult<T>> actual,
      Function<? super T, Op> operations,
      PostOptions options) {
    super(loop, actual, options.window(), options.stopOnError());
    this.posting = loop.runtime().posting;
    this.operations = operations;
    this.deadline = options.deadline();
  }

  @Override
  String operation() {
    return "post operations";
  }

  @Override
  void submit(T item) {
    Element element;
    try {
      Op op = Objects.requireNonNull(operations.apply(item), "the operation is null");
      posting.check(op);
      element = new Element(item, op);
    } catch (Throwable e) {
      Exceptions.throwIfJvmFatal(e);
      report(new SendResult<>(item, LciException.NONE, PostOutcome.DONE, invalid(e), null));
      return;
    }
    if (!isWanting()) { // the function has cancelled
      gone();
      discard(item);
      return;
    }
    live.add(element);
    element.start();
  }

  private LciException invalid(Throwable reason) {
    if (reason instanceof LciException known) {
      return known;
    }
    LciException error =
        new LciException(
            Detail.of(
                operation(),
                "error_argument",
                "no operation of this runtime: " + Thrown.text(reason)));
    error.initCause(reason);
    return error;
  }

  @Override
  void withdraw() {
    for (Element element : List.copyOf(live)) {
      element.cancel();
    }
  }

  /** One operation: its end is a result instead of signals. */
  private final class Element extends OpAttempt<Object> {
    private final T item;

    @SuppressWarnings("unchecked") // nothing is emitted to it
    Element(T item, Op op) {
      super(
          BulkPost.this.loop,
          (CoreSubscriber<Object>) (CoreSubscriber<?>) BulkPost.this.actual,
          op,
          op.deadline() == null ? deadline : op.deadline());
      this.item = item;
    }

    @Override
    void drain() {} // the operator has the signals

    @Override
    public Drainable drainable() {
      return BulkPost.this;
    }

    @Override
    public boolean wants(Object ignored) {
      return isWanting() && super.wants(ignored);
    }

    @Override
    void ended() {
      live.remove(this);
      RuntimeException reason = failure();
      Completion completion = takeCompletion();
      if (reason != null) {
        LciException error = known(reason, op.rank(), LciException.NONE, op.device());
        report(new SendResult<>(item, op.rank(), PostOutcome.DONE, error, null));
      } else if (completion != null) {
        PostOutcome outcome = Errors.outcome(acceptedAs());
        report(new SendResult<>(item, completion.rank(), outcome, null, completion));
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
