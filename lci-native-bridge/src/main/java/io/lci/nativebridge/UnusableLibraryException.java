/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import org.jspecify.annotations.Nullable;

/** One file cannot serve as the library: the reason, and what its owner can do. */
final class UnusableLibraryException extends Exception {
  private static final long serialVersionUID = 1L;

  private final String reason;
  private final String fix;

  UnusableLibraryException(String reason, String fix, @Nullable Throwable cause) {
    super(reason, cause);
    this.reason = reason;
    this.fix = fix;
  }

  /** The linker refuses the file, in its own words. */
  static UnusableLibraryException refusedByLinker(String words, @Nullable Throwable cause) {
    return new UnusableLibraryException(
        "the linker says: " + oneLine(words), "install or repair what the linker names", cause);
  }

  static String oneLine(String text) {
    return text.strip().replaceAll("\\s*\\R\\s*", "; ");
  }

  String reason() {
    return reason;
  }

  String fix() {
    return fix;
  }
}
