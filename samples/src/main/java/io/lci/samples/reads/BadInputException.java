/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.reads;

import java.nio.file.Path;

/**
 * An input file is missing, damaged or of another format. The message is one line: file, what is
 * wrong, position.
 */
public final class BadInputException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /**
   * @param file what is bad
   * @param what is wrong with it
   */
  public BadInputException(Path file, String what) {
    super(file + ": " + what);
  }

  BadInputException(Path file, String what, long position) {
    super(file + ": " + what + " (byte " + position + ")");
  }

  BadInputException(Path file, String what, long position, Throwable cause) {
    super(file + ": " + what + " (byte " + position + ")", cause);
  }
}
