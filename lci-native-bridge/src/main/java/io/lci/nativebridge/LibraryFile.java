/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** What can be said about a library's file before the linker sees it. */
final class LibraryFile {

  /** File name of the library, everywhere. */
  static final String NAME = "liblci.so";

  private static final int ELF_MAGIC = 0x7F454C46;
  private static final int ELF_HEADER = 20;
  private static final int CLASS_64 = 2;
  private static final int LITTLE_ENDIAN = 1;
  private static final int TYPE_SHARED = 3;
  private static final int MACHINE_X86_64 = 62;

  private LibraryFile() {}

  /**
   * Refuses what is not a shared library for Linux on x86-64, or must not be executed where it
   * lies.
   *
   * @throws UnusableLibraryException naming what the file is instead
   */
  static void check(Path file) throws UnusableLibraryException {
    if (!Files.exists(file)) {
      throw unusable("no such file: " + file, "name an existing file", null);
    }
    if (!Files.isRegularFile(file)) {
      throw unusable("not a regular file: " + file, "name the library's file", null);
    }
    String wrong;
    try {
      wrong = wrongFormat(file);
    } catch (IOException e) {
      throw unusable("cannot read " + file + ": " + e, "make the file readable", e);
    }
    if (wrong != null) {
      throw unusable(
          file + " is " + wrong + ", needed is a 64-bit shared library for x86-64",
          "use the library that was built for this machine",
          null);
    }
    String noexec = MountOptions.noexecMountOf(file);
    if (noexec != null) {
      throw unusable(
          file + " lies on " + noexec + ", which is mounted noexec",
          "move the library to a file system that allows execution",
          null);
    }
  }

  private static @Nullable String wrongFormat(Path file) throws IOException {
    byte[] bytes;
    try (InputStream in = Files.newInputStream(file)) {
      bytes = in.readNBytes(ELF_HEADER);
    }
    ByteBuffer header = ByteBuffer.wrap(bytes);
    if (bytes.length < ELF_HEADER || header.getInt(0) != ELF_MAGIC) {
      return "not an ELF file (another system's library, or damaged)";
    }
    header.order(ByteOrder.LITTLE_ENDIAN);
    if (header.get(4) != CLASS_64 || header.get(5) != LITTLE_ENDIAN) {
      return "not a 64-bit little-endian library";
    }
    int machine = Short.toUnsignedInt(header.getShort(18));
    if (machine != MACHINE_X86_64) {
      return "built for " + machineName(machine);
    }
    if (header.getShort(16) != TYPE_SHARED) {
      return "not a shared library";
    }
    return null;
  }

  private static String machineName(int machine) {
    return switch (machine) {
      case 3 -> "x86 (32 bit)";
      case 21 -> "ppc64";
      case 22 -> "s390x";
      case 40 -> "arm (32 bit)";
      case 183 -> "aarch64";
      case 243 -> "riscv";
      default -> "machine type " + machine;
    };
  }

  private static UnusableLibraryException unusable(
      String reason, String fix, @Nullable Throwable cause) {
    return new UnusableLibraryException(reason, fix, cause);
  }
}
