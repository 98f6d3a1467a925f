/* SPDX-License-Identifier: Apache-2.0 */

/** The calls into the native core. For lci-reactive alone. */
module io.lci.nativebridge {
  requires com.sun.jna;
  requires static org.jspecify;

  exports io.lci.nativebridge to
      io.lci.reactive;

  // JNA binds the natives of a class
  opens io.lci.nativebridge to
      com.sun.jna;
}
