/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.groupstream;

/** Where the frames of a stream go. Loop only. */
interface Wire {
  /** Sends it to another member; it waits while there is no room. */
  void send(int member, byte[] frame);

  /** Whether the stream has ended, also by what was called just now. */
  boolean hasEnded();
}
