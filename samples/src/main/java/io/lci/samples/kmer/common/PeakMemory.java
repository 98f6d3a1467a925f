/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer.common;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The most memory this process ever had resident. */
public final class PeakMemory {
  private static final Path STATUS = Path.of("/proc/self/status");
  private static final String LINE = "VmHWM:";

  private PeakMemory() {}

  /** {@return it, in KiB; 0 if the system does not say} */
  public static long kib() {
    try {
      for (String line : Files.readAllLines(STATUS)) {
        if (line.startsWith(LINE)) {
          return Long.parseLong(line.substring(LINE.length()).replace("kB", "").trim());
        }
      }
    } catch (IOException | NumberFormatException e) {
      return 0;
    }
    return 0;
  }
}
