/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import io.lci.error.LciException;
import io.lci.error.LciTransientException;

/**
 * Answer to a posted operation. Three categories: <em>done</em> (finished, nothing follows),
 * <em>posted</em> (exactly one completion follows) and <em>retry</em> (nothing happened; the
 * constant names the slow party).
 *
 * @since 0.1
 */
public enum PostOutcome {
  /** Finished now; the completion target is not signalled. */
  DONE,
  /** As {@link #DONE}; the payload was copied into the backlog. */
  DONE_BACKLOG,
  /** Accepted; exactly one completion follows. */
  POSTED,
  /** As {@link #POSTED}; the operation waits in the backlog. */
  POSTED_BACKLOG,
  /** Another thread held a try-lock. The next turn clears it. */
  RETRY_LOCK,
  /** This rank has no free packet: packets in flight, or retained by receivers, must come back. */
  RETRY_NOPACKET,
  /**
   * The ring towards the peer is full: the peer does not progress, or traffic exceeds its speed. Or
   * the completion queue of the operation has no place left.
   */
  RETRY_NOMEM,
  /** Operations to that rank wait in the backlog, and this one may not overtake them. */
  RETRY_BACKLOG,
  /**
   * The receiver grants no room: its subscriber has no demand, the port is not open yet, or the
   * rank has no device of this number yet ({@link LciRuntime#addLoop()}).
   */
  RETRY_NOCREDIT,
  /**
   * Too many operations of this loop are in flight; completions make room. For a request ({@link
   * AmOp#replyTo}): all room for replies is in use.
   */
  RETRY_PENDING,
  /** An earlier operation for the same destination still waits; this one was not attempted. */
  RETRY_ORDER;

  /** {@return whether the operation finished and nothing follows} */
  public boolean isDone() {
    return this == DONE || this == DONE_BACKLOG;
  }

  /** {@return whether exactly one completion follows} */
  public boolean isPosted() {
    return this == POSTED || this == POSTED_BACKLOG;
  }

  /** {@return whether nothing happened and the operation may be tried again} */
  public boolean isRetry() {
    return !isDone() && !isPosted();
  }

  /**
   * Returns this outcome unless it is a retry.
   *
   * @return this
   * @throws LciTransientException if {@link #isRetry()}
   */
  public PostOutcome orThrow() {
    if (isRetry()) {
      throw new LciTransientException(
          LciException.Detail.of(
              "post", name().toLowerCase(java.util.Locale.ROOT), "try again after progress"));
    }
    return this;
  }
}
