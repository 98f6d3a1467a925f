/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.error;

/**
 * A documented bound was met: waiting operations, the backlog with retry disallowed, or memory of
 * the system or container.
 *
 * @since 0.1
 */
public class ResourceExhaustedException extends LciException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param detail what failed
   */
  public ResourceExhaustedException(Detail detail) {
    super(detail);
  }
}
