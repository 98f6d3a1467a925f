/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.lane;

/** What records tell about operations that a loop submitted. Loop only. */
public interface Submissions {
  /** Crosses with what was appended. */
  int flush();

  /**
   * An operation that was posted has ended.
   *
   * @param received where the message of a receive lies that was too long for its memory, else 0
   */
  void ended(long context, int code, int rank, long tag, int size, long received);

  /** A destination has room. */
  void writable(boolean engine, int device, int rank, int port, long granted);

  /** A port or an engine of a peer is closed to what waits for it. */
  void failParked(boolean engine, int device, int rank, int port, int code);
}
