/* SPDX-License-Identifier: Apache-2.0 */

/** LCI for Project Reactor. A program starts at {@link io.lci.LciRuntime}. */
module io.lci.reactive {
  requires io.lci.nativebridge;
  requires org.slf4j;
  requires transitive org.reactivestreams;
  requires transitive reactor.core;
  requires static transitive org.jspecify;

  exports io.lci;
  exports io.lci.am;
  exports io.lci.collective;
  exports io.lci.completion;
  exports io.lci.error;
  exports io.lci.matching;
  exports io.lci.rma;
  exports io.lci.rpc;
  exports io.lci.stream;
}
