/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.error;

/**
 * A peer sent bytes, or a frame, that make no sense where they came. What they belonged to ends
 * with this on both sides: one exchange, or, where they could belong to anything, all exchanges
 * with that peer.
 */
public class ProtocolException extends LciException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param detail what failed
   */
  public ProtocolException(Detail detail) {
    super(detail);
  }
}
