/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.error;

/**
 * The runtime is closed, or this inbox or completion object was disposed, before or while something
 * was outstanding; the message says which. Where a fatal error ended the runtime, that error is the
 * cause.
 *
 * @since 0.1
 */
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
