/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.error;

/**
 * The region of a put or get has ended: its owner freed it, or this rank closed it.
 *
 * @since 0.1
 */
public class MemoryClosedException extends LciException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param detail what failed and where
   */
  public MemoryClosedException(Detail detail) {
    super(detail);
  }
}
