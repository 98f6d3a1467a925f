/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A directory mounted noexec, where the machine allows that; else the test is skipped with the
 * reason.
 */
final class NoexecMount implements AutoCloseable {

  private final Path directory;

  private NoexecMount(Path directory) {
    this.directory = directory;
  }

  static NoexecMount create(Path directory) throws IOException, InterruptedException {
    Files.createDirectory(directory);
    Process mount =
        new ProcessBuilder(
                "mount", "-t", "tmpfs", "-o", "noexec,size=64m", "tmpfs", directory.toString())
            .redirectErrorStream(true)
            .start();
    String output =
        new String(mount.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
    boolean mounted = mount.waitFor() == 0;
    if (!mounted) {
      System.out.println("SKIPPED: no noexec mount can be made here: " + output);
    }
    assumeTrue(mounted, "no noexec mount can be made here: " + output);
    return new NoexecMount(directory);
  }

  Path directory() {
    return directory;
  }

  @Override
  public void close() throws IOException, InterruptedException {
    Process umount =
        new ProcessBuilder("umount", directory.toString()).redirectErrorStream(true).start();
    String output = new String(umount.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(umount.waitFor()).as("umount: " + output).isZero();
  }
}
