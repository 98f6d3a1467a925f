/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

/**
 * Posts operations without a publisher per operation, from the loop's own thread only: inside a
 * handler, a decoder, a signal, or a task of {@link LciLoop#scheduler()}. Obtained from {@link
 * LciLoop#poster()}. Posting never progresses and never calls back into user code.
 *
 * <p>Completions of operations that were <em>posted</em> go to the target of {@link Op#completeTo};
 * without a target they are dropped after counting, except that errors are reported to the
 * operation's {@code onError}, or logged.
 *
 * @since 0.1
 */
public interface Poster {
  /**
   * Attempts the operation once, now, after everything appended before it. Legal inside a delivery.
   * {@link Op#deadline} has no effect here.
   *
   * @param op the operation
   * @return the outcome; on a retry nothing happened and nothing was kept
   * @throws io.lci.error.LciException on an error outcome
   * @throws IllegalStateException off the loop's thread
   */
  PostOutcome tryPost(Op op);

  /**
   * Appends the operation; it goes out with the current batch, at the latest at the end of the
   * turn. After a retry it waits, and is posted again when its destination has room; {@link
   * Op#onOutcome} gets the final outcome. {@link Op#onError} gets the error when {@link
   * Op#deadline} passes, also after the operation was posted.
   *
   * @param op the operation
   * @return this
   * @throws IllegalStateException off the loop's thread
   */
  Poster submit(Op op);

  /**
   * Sends out the appended operations.
   *
   * @return descriptors taken out of the submission array, accepted or refused
   * @throws IllegalStateException off the loop's thread
   */
  int flush();
}
