/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.error;

/**
 * A peer sent bytes, or a frame, that make no sense where they came. The exchange that they
 * belonged to ends with this error on both sides. If they could belong to any exchange, all
 * exchanges with that peer end. In the latter case later exchanges end with it, too, at once: the
 * two ranks do not talk any more. Exchanges with other ranks go on.
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
