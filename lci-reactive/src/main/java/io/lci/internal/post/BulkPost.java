/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.Op;
import io.lci.PostOptions;
import io.lci.PostOutcome;
import io.lci.am.SendResult;
import io.lci.completion.Completion;
import io.lci.error.LciException;
import io.lci.error.LciException.Detail;
import io.lci.internal.core.Errors;
import io.lci.internal.core.Thrown;
import java.time.Duration;
import java.util.Objects;
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
  private final OpCheck check;
  private final Function<? super T, Op> operations;
  private final @Nullable Duration deadline;

  private final ElementAttempt.Live<T> live = new ElementAttempt.Live<>();

  BulkPost(
      Outbox outbox,
      OpCheck check,
      CoreSubscriber<? super SendResult<T>> actual,
      Function<? super T, Op> operations,
      PostOptions options) {
    super(outbox, actual, options.window(), options.stopOnError());
    this.check = check;
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
      check.check(op);
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
    element.enter();
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
    for (ElementAttempt<T> element : live.all()) {
      element.cancel();
    }
  }

  private final class Element extends ElementAttempt<T> {
    Element(T item, Op op) {
      super(BulkPost.this, live, item, op, op.deadline() == null ? deadline : op.deadline());
    }

    @Override
    void over() {
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
  }
}
