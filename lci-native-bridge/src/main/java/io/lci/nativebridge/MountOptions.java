/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Tells whether a file's mount forbids execution, from the kernel's mount table. */
final class MountOptions {

  private static final Path TABLE = Path.of("/proc/self/mountinfo");
  private static final int MOUNT_POINT = 4;
  private static final int OPTIONS = 5;

  private MountOptions() {}

  /** The mount point above {@code file} if it is mounted {@code noexec}, else null. */
  static @Nullable String noexecMountOf(Path file) {
    try {
      return noexecMountOf(file.toRealPath(), Files.readAllLines(TABLE));
    } catch (IOException e) {
      return null; // Only a hint for a message is lost.
    }
  }

  static @Nullable String noexecMountOf(Path file, List<String> table) {
    String mountPoint = null;
    boolean noexec = false;
    for (String line : table) {
      String[] fields = line.split(" ");
      if (fields.length <= OPTIONS) {
        continue;
      }
      String candidate = unescape(fields[MOUNT_POINT]);
      boolean nearer = mountPoint == null || candidate.length() >= mountPoint.length();
      if (nearer && file.startsWith(candidate)) {
        mountPoint = candidate;
        noexec = Arrays.asList(fields[OPTIONS].split(",")).contains("noexec");
      }
    }
    return noexec ? mountPoint : null;
  }

  /** The table writes space, tab, newline and backslash in octal. */
  private static String unescape(String field) {
    return field
        .replace("\\040", " ")
        .replace("\\011", "\t")
        .replace("\\012", "\n")
        .replace("\\134", "\\");
  }
}
