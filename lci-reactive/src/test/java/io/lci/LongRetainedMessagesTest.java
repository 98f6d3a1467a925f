/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.testing.LciTestProcess;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The memory of a long message is unmapped when it goes home: not while another thread is reading
 * it, which would end the JVM. So this is another JVM.
 */
class LongRetainedMessagesTest {
  @TempDir Path directory;

  // Proves: V14
  // On: inproc
  @ParameterizedTest
  @ValueSource(strings = {"release", "close"})
  void aReaderKeepsItsMemory(String role) throws Exception {
    Path output = directory.resolve("output");
    Process process =
        LciTestProcess.java(
                LongRetainedProcess.class, List.of("-Xmx400m", "-XX:-CreateCoredumpOnCrash"), role)
            .directory(directory.toFile()) // of the report, if it crashes
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    try {
      assertThat(process.waitFor(100, TimeUnit.SECONDS)).isTrue();
    } finally {
      process.destroyForcibly().waitFor();
    }
    assertThat(Files.readString(output)).contains("alive").doesNotContain("Exception");
    assertThat(process.exitValue()).isZero();
  }
}
