/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.error;

/** The runtime, loop or inbox is closed, or was closed while the operation was outstanding. */
public class LciClosedException extends LciException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param detail what failed
   */
  public LciClosedException(Detail detail) {
    super(detail);
  }
}
