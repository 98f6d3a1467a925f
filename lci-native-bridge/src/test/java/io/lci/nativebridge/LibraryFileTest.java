/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LibraryFileTest {

  @TempDir Path directory;

  private Path elf(int bits, int order, int type, int machine) throws IOException {
    ByteBuffer header = ByteBuffer.allocate(64);
    header.putInt(0x7F454C46).put((byte) bits).put((byte) order);
    header.order(ByteOrder.LITTLE_ENDIAN).putShort(16, (short) type).putShort(18, (short) machine);
    return Files.write(directory.resolve("liblci.so"), header.array());
  }

  @Test
  void takesASharedLibraryForThisMachine() throws IOException {
    Path file = elf(2, 1, 3, 62);
    assertThatCode(() -> LibraryFile.check(file)).doesNotThrowAnyException();
  }

  @ParameterizedTest
  @CsvSource({
    "2, 1, 3, 183, built for aarch64",
    "2, 1, 3, 243, built for riscv",
    "2, 1, 3, 4711, built for machine type 4711",
    "1, 1, 3, 3, not a 64-bit little-endian library",
    "2, 2, 3, 22, not a 64-bit little-endian library",
    "2, 1, 2, 62, not a shared library"
  })
  void saysWhatElseItIs(int bits, int order, int type, int machine, String what)
      throws IOException {
    Path file = elf(bits, order, type, machine);
    assertThatThrownBy(() -> LibraryFile.check(file))
        .isInstanceOf(UnusableLibraryException.class)
        .hasMessageContaining(file + " is " + what)
        .hasMessageContaining("x86-64");
  }

  @Test
  void refusesWhatIsNoLibrary() throws IOException {
    Path text =
        Files.writeString(
            directory.resolve("text.so"), "Mach-O or a web page in place of the file");
    assertThatThrownBy(() -> LibraryFile.check(text)).hasMessageContaining("not an ELF file");
    Path empty = Files.createFile(directory.resolve("empty.so"));
    assertThatThrownBy(() -> LibraryFile.check(empty)).hasMessageContaining("not an ELF file");
    assertThatThrownBy(() -> LibraryFile.check(directory))
        .hasMessageContaining("not a regular file");
    Path missing = directory.resolve("missing.so");
    assertThatThrownBy(() -> LibraryFile.check(missing)).hasMessage("no such file: " + missing);
  }
}
