/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.lane;

/** Takes the statuses of a synchronizer. Loop only. */
public interface StatusSink {
  int id();

  /** One status; {@code left} others of the same firing follow. */
  void status(int code, int port, int rank, long tag, int size, int context, int left);
}
