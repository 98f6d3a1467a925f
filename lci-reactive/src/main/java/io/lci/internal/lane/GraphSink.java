/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.lane;

/** Hears of the run of a graph. Loop only. */
public interface GraphSink {
  /** A host node is to be done. */
  void fire(int node, long context);

  /** The run is over. */
  void ended(int code, int node);
}
