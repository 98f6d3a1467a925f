/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.error;

/**
 * The peer {@link #rank()} announced its departure before the operation could complete.
 *
 * @since 0.1
 */
public class PeerLeftException extends LciException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param detail what failed
   */
  public PeerLeftException(Detail detail) {
    super(detail);
  }
}
