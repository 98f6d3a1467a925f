/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.lane;

/**
 * A completion target that may have no room: an operation that its loop tells it of has a place in
 * it while it is pending. Each method is called on the loop of the operation.
 */
public interface PlaceTarget {
  /**
   * Reserves a place for an operation of the lane's device {@code device}.
   *
   * @return done; a retry where there is none: the loop looks again when there may be one; error
   *     closed of a target that is disposed of: it needs none
   */
  int reserve(Relay relay, int device);

  /** Gives back a place whose operation signals nothing. */
  void giveBack(Relay relay);
}
