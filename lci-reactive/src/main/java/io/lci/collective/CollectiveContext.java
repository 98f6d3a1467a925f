/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import reactor.core.Disposable;

/**
 * An order of calls of a {@link Group}, with numbers of its own: calls of two contexts are under
 * way independently of each other. Made by {@link Group#context}; each member makes it with the
 * same arguments, when it likes. Calls wait for a context that is not there yet.
 *
 * <p>{@code dispose} returns at once. Calls and streams under way go on; later ones end with {@link
 * io.lci.error.LciClosedException}. When they have ended, it may be made anew, and is another one:
 * all members must do so equally often. Where nothing is under way, that is at once.
 *
 * @since 0.1
 */
public interface CollectiveContext extends Collectives, Disposable {
  /** {@return the group whose calls these are} */
  Group group();

  /** {@return the number of the device that they go by; its loop signals} */
  int device();

  /**
   * Gives the context up: on every member the calls and streams end that it has not completed, and
   * later ones fail, with {@link io.lci.error.CollectiveFailedException}. The first revocation
   * counts.
   */
  void revoke();
}
