/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.error;

/**
 * The rank {@link #rank()} gave a context up: by {@link
 * io.lci.collective.CollectiveContext#revoke()}, with its group by {@link
 * io.lci.collective.Group#revoke}, or as it had no memory for a call, or its codec or operator
 * threw: then that is the cause of its own exception. The calls of that context which were under
 * way end with it, and so does each later one. Or it failed in a {@linkplain
 * io.lci.collective.GroupStreams stream of a group}, which ends; the message has the text of its
 * error.
 *
 * @since 0.1
 */
public class CollectiveFailedException extends LciException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param detail what failed
   */
  public CollectiveFailedException(Detail detail) {
    super(detail);
  }
}
