/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.error;

/**
 * Members of a group called different collectives, or the same with other arguments: the message
 * says which two ranks, and what each of them called. {@link #rank()} is one of them. The calls of
 * that context which were under way end with it, and so does each later one. Members that
 * subscribed to different {@linkplain io.lci.collective.GroupStreams streams} get it, too; then
 * that stream alone ends.
 *
 * @since 0.1
 */
public class CollectiveMismatchException extends LciException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param detail what failed
   */
  public CollectiveMismatchException(Detail detail) {
    super(detail);
  }
}
