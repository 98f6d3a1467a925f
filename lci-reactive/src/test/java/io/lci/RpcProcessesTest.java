/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.testing.LciTestProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Streams and RPC between two JVMs, until one of them dies in a handler. */
class RpcProcessesTest {
  @TempDir Path directory;
  private final List<Process> started = new ArrayList<>();

  @AfterEach
  void endProcesses() throws InterruptedException {
    for (Process process : started) {
      process.destroyForcibly().waitFor();
    }
  }

  // Proves: Y6
  // On: processes
  @Test
  void callsAndStreamsUntilTheServerDies() throws Exception {
    LciTestProcess.jobDirectory(directory.resolve("job"));
    Process caller = start(0);
    start(1);
    boolean ended = caller.waitFor(100, TimeUnit.SECONDS);
    String output = Files.readString(directory.resolve("out0"));
    assertThat(ended).as(output).isTrue();
    assertThat(caller.exitValue()).as(output).isZero();
    assertThat(output)
        .contains("sum " + 2L * 1_999 * 2_000 / 2, "count 2000", "call lost 1", "stream lost 1");
  }

  private Process start(int rank) throws IOException {
    ProcessBuilder builder =
        LciTestProcess.java(RpcProcess.class, List.of("-Xmx64m"))
            .redirectErrorStream(true)
            .redirectOutput(directory.resolve("out" + rank).toFile());
    builder.environment().put("LCI_JOB_DIR", directory.resolve("job").toString());
    builder.environment().put("LCI_RANK", Integer.toString(rank));
    builder.environment().put("LCI_SIZE", "2");
    Process process = builder.start();
    started.add(process);
    return process;
  }
}
