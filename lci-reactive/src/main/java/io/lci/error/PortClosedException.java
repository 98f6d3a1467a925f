/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.error;

/**
 * The receiver closed the port, and goes on. It may open the port again, and later messages then
 * pass. If the port closed because its rank leaves, operations end with {@link PeerLeftException}
 * instead.
 *
 * @since 0.1
 */
public class PortClosedException extends LciException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param detail what failed
   */
  public PortClosedException(Detail detail) {
    super(detail);
  }
}
