/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.Op;
import io.lci.PostOutcome;
import io.lci.Poster;
import io.lci.internal.core.Errors;
import io.lci.internal.loop.EventLoop;

/** Posting without a publisher, on the loop's own thread. */
public final class PosterImpl implements Poster {
  private final Outbox outbox;
  private final EventLoop loop;
  private final OpCheck check;

  public PosterImpl(Outbox outbox, OpCheck check) {
    this.outbox = outbox;
    this.loop = outbox.loop;
    this.check = check;
  }

  @Override
  public PostOutcome tryPost(Op op) {
    check(op);
    return Errors.outcome(new DetachedRun(outbox, op, true).attempt());
  }

  @Override
  public Poster submit(Op op) {
    check(op);
    new DetachedRun(outbox, op, false).submit();
    return this;
  }

  @Override
  public int flush() {
    checkThread();
    return outbox.flush();
  }

  private void check(Op op) {
    checkThread();
    check.check(op);
    if (loop.isClosing()) {
      throw loop.closed(op.toString());
    }
  }

  private void checkThread() {
    if (!loop.inLoop()) {
      throw new IllegalStateException(
          "a poster belongs to its loop's thread; use post(op), or a task of the loop's scheduler");
    }
  }
}
