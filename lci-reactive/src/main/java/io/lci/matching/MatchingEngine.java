/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.matching;

import reactor.core.Disposable;

/**
 * A domain of sends and receives: the same ranks and tags on two engines do not meet. Made by
 * {@link Tagged#engine}, named in {@link io.lci.SendOp#engine} and {@link io.lci.ReceiveOp#engine}.
 * Sends to a rank that has not made its engine yet wait, as for a port that is not open. Any
 * thread.
 *
 * @since 0.1
 */
public interface MatchingEngine extends Disposable {
  /** Largest number of an engine of the program. */
  int MAX_NUMBER = 254;

  /** {@return its number, the same on every rank} */
  int number();

  /**
   * Ends the engine: receives that are not matched end in {@link
   * io.lci.error.OperationCancelledException}, sends that are not matched are discarded and
   * counted, and sends that wait at their sender end in {@link io.lci.error.PortClosedException}.
   * The number may be used again. Repeated calls do nothing.
   */
  @Override
  void dispose();
}
