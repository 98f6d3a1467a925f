/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.error;

/**
 * The core cancelled the operation before it took effect.
 *
 * @since 0.1
 */
public class OperationCancelledException extends LciException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param detail what failed
   */
  public OperationCancelledException(Detail detail) {
    super(detail);
  }
}
