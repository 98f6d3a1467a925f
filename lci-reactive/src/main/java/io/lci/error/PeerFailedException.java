/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.error;

/**
 * The peer {@link #rank()} died. Every operation bound to it ends with this; inboxes live on.
 *
 * @since 0.1
 */
public class PeerFailedException extends LciException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param detail what failed
   */
  public PeerFailedException(Detail detail) {
    super(detail);
  }
}
