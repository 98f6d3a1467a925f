/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.error;

/**
 * A loop's thread cannot be bound to the CPU that {@link
 * io.lci.LciOptions.Builder#affinity(int...)} names; the hint says how many there are.
 *
 * @since 0.1
 */
public class AffinityException extends LciException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param detail what failed
   */
  public AffinityException(Detail detail) {
    super(detail);
  }
}
