/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

/**
 * A change of a peer's state.
 *
 * @param rank the peer
 * @param state its new state
 * @since 0.1
 */
public record PeerEvent(int rank, State state) {
  /** The state of a peer after the change. */
  public enum State {
    /** The peer closed, and everything that it had posted was sent: not a failure. */
    LEFT,
    /** The peer died, aborted, or closed before everything was sent. */
    FAILED
  }
}
