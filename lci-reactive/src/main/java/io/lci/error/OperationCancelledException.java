/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.error;

/**
 * The core cancelled the operation before it took effect, or the subscriber of the member {@link
 * #rank()} cancelled its {@linkplain io.lci.collective.GroupStreams stream of a group}.
 *
 * @since 0.1
 */
public class OperationCancelledException extends LciException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param detail what failed
   */
  public OperationCancelledException(Detail detail) {
    super(detail);
  }
}
