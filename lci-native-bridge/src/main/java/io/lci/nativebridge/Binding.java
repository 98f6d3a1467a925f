/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

/**
 * The means that open the library and make its calls, and why these.
 *
 * @param access opens and binds
 * @param name {@value #JNA} or {@value #FFM}
 * @param reason why it is this one, for people
 * @param secondBest whether this JVM could do better and nobody asked for less
 */
record Binding(NativeAccess access, String name, String reason, boolean secondBest) {

  /** By JNA direct mapping: on every JVM. */
  static final String JNA = "jna";

  /** By {@code java.lang.foreign}: on 22 and newer. */
  static final String FFM = "ffm";
}
