/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.PostResult;
import io.lci.am.Encoder;
import io.lci.error.LciException;
import io.lci.internal.core.Errors;
import io.lci.internal.core.Thrown;
import io.lci.internal.lane.PostWriter;
import io.lci.nativebridge.Codes;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;
import reactor.core.Exceptions;

/**
 * Elements that become active messages to one port: where each goes, how it is encoded, and what is
 * reported of it.
 *
 * @param <T> element
 */
abstract class SendElements<T> extends Elements<T> {
  final SenderImpl sender;
  private final Encoder<? super T> encoder;
  private final @Nullable ToIntFunction<? super T> router;
  private final int fixedRank;
  private int lastSize;

  /**
   * @param router null if all elements go to {@code fixedRank}, and nobody asks for results
   */
  SendElements(
      BulkRun<T, ?> run,
      SenderImpl sender,
      int fixedRank,
      @Nullable ToIntFunction<? super T> router,
      Encoder<? super T> encoder) {
    super(run);
    this.sender = sender;
    this.fixedRank = fixedRank;
    this.router = router;
    this.encoder = encoder;
  }

  /** Sends the element to a rank that there is. */
  abstract void submit(T item, int rank);

  /** A caller that asks for results resends what has none. */
  @Override
  final boolean failureAwaitsResults() {
    return router != null;
  }

  @Override
  final String operation() {
    return "send to " + sender.port();
  }

  @Override
  final void submit(T item) {
    int rank = fixedRank;
    if (router != null) {
      try {
        rank = router.applyAsInt(item);
      } catch (Throwable e) {
        Exceptions.throwIfJvmFatal(e);
        LciException error =
            sender.error(
                LciException.NONE, "error_rank", "the routing function failed: " + Thrown.text(e));
        error.initCause(e);
        report(item, LciException.NONE, Codes.DONE, error);
        return;
      }
      int ranks = run.loop.core().size;
      if (rank < 0 || rank >= ranks) {
        String hint = "ranks are 0 to " + (ranks - 1);
        report(item, rank, Codes.DONE, sender.error(rank, "error_rank", hint));
        return;
      }
      if (!run.isWanting()) { // the routing function has cancelled
        run.gone();
        run.discard(item);
        return;
      }
    }
    submit(item, rank);
  }

  /** Bytes that the encoder announces, or that the element before it had. */
  final int hint(T item) {
    int hint = encoder.sizeHint(item);
    return hint == Encoder.UNKNOWN ? lastSize : hint;
  }

  final void write(T item, PostWriter out) {
    out.policy = sender.replyRoom();
    encoder.encode(item, out);
    lastSize = out.size();
  }

  /** The element ended: without an error its result is for a caller that asked for results. */
  final void report(T item, int rank, int code, @Nullable LciException error) {
    if (error == null && router == null) {
      run.accepted();
      run.schedule();
    } else {
      run.report(new PostResult<>(item, rank, Errors.outcome(code), error, null));
    }
  }

  /** Whether all elements go to one rank. */
  final boolean hasOneRank() {
    return router == null;
  }

  /** Whether elements that the core accepted need no more than to be counted. */
  final boolean isSilent() {
    return router == null;
  }
}
