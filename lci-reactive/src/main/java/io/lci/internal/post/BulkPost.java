/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.Op;
import io.lci.PostOptions;
import io.lci.PostOutcome;
import io.lci.PostResult;
import io.lci.completion.Completion;
import io.lci.error.LciException;
import io.lci.error.LciException.Detail;
import io.lci.internal.core.Errors;
import io.lci.internal.core.Thrown;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.core.Exceptions;

/**
 * Posts an operation for each element, a window of them at a time.
 *
 * @param <T> element
 */
final class BulkPost<T> extends Elements<T> {
  private final OpCheck check;
  private final Function<? super T, ? extends Op> operations;
  private final @Nullable Duration deadline;

  private final Live live = new Live();

  BulkPost(
      BulkRun<T, PostResult<T>> run,
      OpCheck check,
      Function<? super T, ? extends Op> operations,
      PostOptions options) {
    super(run);
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
    OpAttempt<?> attempt;
    try {
      Op op = Objects.requireNonNull(operations.apply(item), "the operation is null");
      check.check(op);
      attempt = live.attempt(item, op);
    } catch (Throwable e) {
      Exceptions.throwIfJvmFatal(e);
      run.report(new PostResult<>(item, LciException.NONE, PostOutcome.DONE, invalid(e), null));
      return;
    }
    if (!run.isWanting()) { // the function has cancelled
      run.gone();
      run.discard(item);
      return;
    }
    Duration own = attempt.op.deadline();
    live.enter(attempt, own == null ? deadline : own);
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
    live.cancelAll();
  }

  /** Operations whose completions are the results. */
  private final class Live extends LiveElements<T> {
    Live() {
      super(BulkPost.this.run);
    }

    @Override
    void over(OpAttempt<?> attempt, T item) {
      RuntimeException reason = attempt.failure();
      Completion completion = attempt.takeCompletion();
      if (reason != null) {
        int rank = attempt.op.rank();
        LciException error = run.known(reason, rank, LciException.NONE, attempt.op.device());
        run.report(new PostResult<>(item, rank, PostOutcome.DONE, error, null));
      } else if (completion != null) {
        PostOutcome outcome = Errors.outcome(attempt.acceptedAs());
        run.report(new PostResult<>(item, completion.rank(), outcome, null, completion));
      } else {
        run.gone();
      }
    }
  }
}
