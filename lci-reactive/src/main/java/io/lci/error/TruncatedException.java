/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.error;

/**
 * The message was longer than the receive buffer; the rest was dropped.
 *
 * @since 0.1
 */
public class TruncatedException extends LciException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param detail what failed
   */
  public TruncatedException(Detail detail) {
    super(detail);
  }
}
