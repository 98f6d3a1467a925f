/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

/** The library that this build made. */
final class RealLibrary {

  private RealLibrary() {}

  /**
   * Loads it from where users get it, the class path. Missing, it fails the test, unless the native
   * build was switched off: then the test is skipped, and says so.
   */
  static NativeLibrary load() {
    boolean built = RealLibrary.class.getClassLoader().getResource(NativeLibrary.RESOURCE) != null;
    if (!built && Boolean.getBoolean("lci.native.skip")) {
      System.out.println("SKIPPED: the native library was not built (lci.native.skip)");
      abort("the native library was not built (lci.native.skip)");
    }
    assertThat(built).as(NativeLibrary.RESOURCE + " is on the class path").isTrue();
    return NativeLibrary.load();
  }
}
