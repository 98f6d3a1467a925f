/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.error;

/**
 * The receiver gave the same port number another name: the two programs disagree about the port's
 * purpose.
 *
 * @since 0.1
 */
public class PortMismatchException extends LciException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param detail what failed
   */
  public PortMismatchException(Detail detail) {
    super(detail);
  }
}
