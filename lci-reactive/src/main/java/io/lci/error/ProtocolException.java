/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.error;

/**
 * A peer sent bytes, or a frame, that make no sense where they came. What they belonged to ends
 * with this on both sides: one exchange, or, where they could belong to anything, all exchanges
 * with that peer. In the latter case those that are begun later end with it, too, at once: the two
 * ranks do not talk any more. What they do with others goes on.
 *
 * @since 0.1
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
