/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.error;

/**
 * The rank publishes no stream of that name, or did not within {@link
 * io.lci.stream.SubscribeOptions#awaitPublisher()}.
 *
 * @since 0.1
 */
public class NoSuchStreamException extends LciException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param detail what failed
   */
  public NoSuchStreamException(Detail detail) {
    super(detail);
  }
}
