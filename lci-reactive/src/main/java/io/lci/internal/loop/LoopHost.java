/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import io.lci.PeerEvent;

/** What a loop belongs to: hears of what the loop finds that is not the loop's own. Loop only. */
public interface LoopHost {
  /** The core was entered: completion objects may have been signalled. */
  void lookAtObjects();

  /** Now and then: passes on what the core has to say, and frees what is not in use any more. */
  void tidy();

  /** The loop has read all that a peer had sent to its devices, and the peer is gone. */
  void peerChanged(EventLoop loop, PeerEvent event);

  /** The loop is about to end. */
  void loopEnding(EventLoop loop);

  /** The loop has freed its lane. */
  void loopEnded();

  /** The loop failed for a reason of its own, or is told that this rank may go on no more. */
  void loopFailed(Throwable reason);
}
