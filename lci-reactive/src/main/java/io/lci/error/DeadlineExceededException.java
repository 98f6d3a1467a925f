/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.error;

/**
 * A {@code deadline(d)} passed. The hint names the state of the operation: queued, refused and
 * waiting (with its last retry reason), or posted.
 *
 * @since 0.1
 */
public class DeadlineExceededException extends LciException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param detail what failed
   */
  public DeadlineExceededException(Detail detail) {
    super(detail);
  }
}
