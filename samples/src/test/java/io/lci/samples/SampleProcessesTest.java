/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Samples in two processes, started by the launcher. */
class SampleProcessesTest {
  private static final int RANKS = 2;
  private static final long LIMIT_SECONDS = 100;

  @TempDir Path folder;

  @Test
  void theArrayLiesInBothProcesses() throws Exception {
    for (String memory : List.of("allocated", "registered")) {
      assertThat(output("array", "--length", "1000", "--memory", memory))
          .contains("[0] 1000 elements on 2 ranks, all as written; their sum is ");
    }
  }

  @Test
  void threadsOfBothProcessesCallEachOther() throws Exception {
    assertThat(output("rpc-echo", "--threads", "2", "--calls", "300"))
        .contains("[0] rank 0: 600 calls answered, ", "[1] rank 1: 600 calls answered, ");
  }

  @Test
  void pricesAreAskedForInTheOtherProcess() throws Exception {
    assertThat(output("rpc"))
        .contains("[0] rank 0: tea costs 5", "[1] rank 1: tea and tin cost [5, 8]");
  }

  /** The first rank has its port; the second says that another has its own, and which. */
  @ParameterizedTest
  @ValueSource(strings = {"kv-service", "metrics"})
  void aRankWhosePortIsTakenSaysSo(String sample) throws Exception {
    try (ServerSocket taken = besideAFreeOne()) {
      int second = taken.getLocalPort();
      assertThat(output(1, sample, "--port", Integer.toString(second - 1)))
          .contains("[1] " + sample + ": cannot listen on 127.0.0.1:" + second + ": ");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"kv-service", "metrics"})
  void moreRanksThanPortsAreRefused(String sample) throws Exception {
    assertThat(output(1, sample, "--port", "65535"))
        .contains("[0] " + sample + ": --port 65535 leaves no port for rank 1");
  }

  /** A port such that the one before it is free. */
  private static ServerSocket besideAFreeOne() throws IOException {
    InetAddress here = InetAddress.getLoopbackAddress();
    while (true) {
      ServerSocket taken = new ServerSocket(0, 1, here);
      try (ServerSocket before = new ServerSocket(taken.getLocalPort() - 1, 1, here)) {
        assertThat(before.isBound()).isTrue();
        return taken;
      } catch (BindException e) { // another program has it: look elsewhere
        taken.close();
      }
    }
  }

  private String output(String... sample) throws Exception {
    return output(0, sample);
  }

  private String output(int exitCode, String... sample) throws Exception {
    List<String> command =
        new ArrayList<>(
            List.of(
                System.getProperty("lci.test.launcher"),
                "-n",
                Integer.toString(RANKS),
                "--dir",
                folder.toString(),
                "--",
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1", // for a second or two
                "-XX:+UseSerialGC",
                "-Xmx64m",
                "-cp",
                System.getProperty("java.class.path")));
    for (String name : List.of("lci.native.path", "lci.native.dir")) {
      if (System.getProperty(name) != null) {
        command.add("-D" + name + "=" + System.getProperty(name));
      }
    }
    command.add(Samples.class.getName());
    command.addAll(List.of(sample));
    Path written = folder.resolve("output");
    Process launcher =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(written.toFile())
            .start();
    try {
      boolean ended = launcher.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
      String output = Files.readString(written);
      assertThat(ended).as(output).isTrue();
      assertThat(launcher.exitValue()).as(output).isEqualTo(exitCode);
      return output;
    } finally {
      launcher.destroy(); // it ends its ranks
      launcher.waitFor();
    }
  }
}
