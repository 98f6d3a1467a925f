/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import io.lci.nativebridge.NativeAccess.SharedLibrary;
import java.nio.file.Path;
import java.util.List;

/** Opens a file as the library: links it, checks it, binds it. */
final class LibraryOpener {

  private static final String SAME_VERSION_FIX =
      "use the library of the same version as the lci-native-bridge jar";

  private final Binding binding;

  /**
   * An opener by the means chosen.
   *
   * @throws NativeLibraryException if they cannot be had
   */
  LibraryOpener(BindingChoice choice) {
    binding = choice.bind();
  }

  /**
   * Opens a file, checks layout and symbols, and binds the functions. A library that is bound stays
   * mapped for as long as the JVM lives.
   */
  NativeLibrary open(Path file, String source) throws UnusableLibraryException {
    try (SharedLibrary library = binding.access().open(file)) {
      Layout layout = checkLayout(library, file);
      checkSymbols(library, file);
      library.stay();
      return new NativeLibrary(library.bind(), binding, layout, source);
    }
  }

  private static Layout checkLayout(SharedLibrary library, Path file)
      throws UnusableLibraryException {
    if (library.find(Symbols.LAYOUT) == 0) {
      throw new UnusableLibraryException(
          file + " is another library: it has no function " + Symbols.LAYOUT,
          SAME_VERSION_FIX,
          null);
    }
    int known = LayoutId.values().length;
    NativeScratch scratch = new NativeScratch(known);
    int count = library.layout(scratch.address(0), known);
    long[] values = new long[known];
    for (int i = 0; i < known; i++) {
      values[i] = scratch.getLong(i);
    }
    try {
      return Layout.check(values, count);
    } catch (LayoutMismatchException e) {
      throw new UnusableLibraryException("layout mismatch: " + e.getMessage(), SAME_VERSION_FIX, e);
    }
  }

  /**
   * Before binding, so that a library is bound whole or not at all, and all that is missing is
   * named.
   */
  private static void checkSymbols(SharedLibrary library, Path file)
      throws UnusableLibraryException {
    List<String> missing =
        Symbols.all().stream().filter(symbol -> library.find(symbol) == 0).toList();
    if (!missing.isEmpty()) {
      throw new UnusableLibraryException(
          file + " has no function " + String.join(", ", missing), SAME_VERSION_FIX, null);
    }
  }
}
