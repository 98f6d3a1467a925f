/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.error;

/**
 * Nothing happened and trying again later may succeed: a retry outcome turned into an exception by
 * {@link io.lci.PostOutcome#orThrow()}.
 *
 * @since 0.1
 */
public class LciTransientException extends LciException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param detail what failed
   */
  public LciTransientException(Detail detail) {
    super(detail);
  }
}
