/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.error;

/**
 * The receiver closed the port, and goes on; it may open it again, and later messages then pass.
 * Where it closed because its rank leaves, that is a {@link PeerLeftException}.
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
