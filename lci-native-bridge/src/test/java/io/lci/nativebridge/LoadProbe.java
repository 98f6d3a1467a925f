/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

/**
 * A program that loads the library and says how that went: the tests of the start run it in a JVM
 * of its own.
 */
final class LoadProbe {

  private LoadProbe() {}

  public static void main(String[] arguments) {
    try {
      NativeLibrary library = NativeLibrary.load();
      System.out.println(
          "LOADED %s from %s by %s: %s"
              .formatted(
                  library.version(), library.source(), library.callsBy(), library.callsReason()));
      if (NativeLibrary.load() != library) {
        System.out.println("LOADED TWICE");
      }
    } catch (NativeLibraryException e) {
      System.out.println("REFUSED " + e.getMessage());
      System.exit(3);
    }
  }
}
