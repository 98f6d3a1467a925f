/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.slow;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Memory of this process as the kernel sees it, shared pages that it touched included. */
final class ResidentMemory {
  private static final Path STATUS = Path.of("/proc/self/status");

  private ResidentMemory() {}

  /** Bytes now. */
  static long now() throws IOException {
    return kibibytes("VmRSS:") << 10;
  }

  /** Bytes at most, since the process began. */
  static long highest() throws IOException {
    return kibibytes("VmHWM:") << 10;
  }

  private static long kibibytes(String field) throws IOException {
    for (String line : Files.readAllLines(STATUS)) {
      if (line.startsWith(field)) {
        return Long.parseLong(line.replaceAll("\\D", ""));
      }
    }
    throw new IOException("no " + field + " in " + STATUS);
  }
}
