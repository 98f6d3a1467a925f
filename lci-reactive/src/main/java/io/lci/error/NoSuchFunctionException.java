/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.error;

/**
 * The rank serves no function of that name, or not in the way it was called.
 *
 * @since 0.1
 */
public class NoSuchFunctionException extends LciException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param detail what failed
   */
  public NoSuchFunctionException(Detail detail) {
    super(detail);
  }
}
