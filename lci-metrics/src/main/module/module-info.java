/* SPDX-License-Identifier: Apache-2.0 */

/** Micrometer meters over the snapshot of a runtime, and observations of RPC. */
module io.lci.metrics {
  requires transitive io.lci.reactive;
  requires transitive micrometer.core;
  requires transitive micrometer.observation;
  requires micrometer.commons;
  requires static transitive org.jspecify;

  exports io.lci.metrics;
}
