/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.lci.testing.LciTestProcess;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Two JVMs that find each other through a job directory. */
class TwoProcessesTest {
  private final List<Process> started = new ArrayList<>();
  private boolean withJna = true;

  @TempDir Path directory;

  @AfterEach
  void endProcesses() throws InterruptedException {
    for (Process process : started) {
      process.destroyForcibly().waitFor();
    }
  }

  @Test
  void theySumEachOthersNumbers() throws Exception {
    Process zero = start(0, "sum");
    Process one = start(1, "sum");
    String expected = "sum " + ProcessRank.COUNT * (ProcessRank.COUNT + 1L) / 2;
    assertThat(finish(zero)).contains(expected);
    assertThat(finish(one)).contains(expected);
  }

  @Test
  void theyAreDrainedTogether() throws Exception {
    Process zero = start(0, "drain");
    Process one = start(1, "drain");
    assertThat(finish(zero)).contains("drained 500, later 0, gone []");
    assertThat(finish(one)).contains("drained 500, later 0, gone []");
  }

  /** Where {@code java.lang.foreign} makes the calls, they run without the jar of JNA. */
  @Test
  void withForeignCallsTheySumWithoutJna() throws Exception {
    boolean hasFfm = LciRuntime.coreInfo().calls().equals("ffm");
    if (!hasFfm) {
      System.out.println("SKIPPED: no calls by java.lang.foreign here");
    }
    assumeTrue(hasFfm, "no calls by java.lang.foreign here");
    withJna = false;
    theySumEachOthersNumbers();
  }

  @Test
  void aKilledRankIsNamedToTheOther() throws Exception {
    Process zero = start(0, "wait");
    Process one = start(1, "die");
    assertThat(finish(zero))
        .contains("PeerFailedException rank 1")
        .contains("under way: barrier rank 1 ")
        .contains("afterwards: barrier rank 1 ")
        .contains("event FAILED 1");
    assertThat(one.waitFor(60, TimeUnit.SECONDS)).isTrue();
  }

  /** The second of three ranks dies before the third comes: both others are told at once. */
  @Test
  void aRankThatDiesWhileTheRanksJoinIsNamed() throws Exception {
    Map<String, String> three = Map.of("LCI_SIZE", "3", "LCI_ATTR_BOOTSTRAP_TIMEOUT_MS", "3600000");
    Process zero = start(0, "join", three);
    Process one = start(1, "join", three);
    Path claim = directory.resolve("job/gen.0/claim.1");
    await()
        .atMost(60, TimeUnit.SECONDS)
        .until(() -> Files.exists(claim) || !zero.isAlive() || !one.isAlive());
    assertThat(claim).exists();
    one.destroyForcibly().waitFor();
    Process two = start(2, "join", three);
    assertThat(finish(zero)).contains("joining failed: PeerFailedException rank 1");
    assertThat(finish(two)).contains("joining failed: PeerFailedException rank 1");
  }

  @Test
  void optionsOfThisLibraryComeByEnvironmentToo() throws Exception {
    Map<String, String> environment =
        Map.of(
            "LCI_ATTR_LOOPS", "2",
            "LCI_ATTR_INVOKER", "0",
            "LCI_ATTR_IDLE_SPINS", "3",
            "LCI_ATTR_IDLE_YIELDS", "4",
            "LCI_ATTR_MAX_POSTED", "500",
            "LCI_ATTR_MAX_PARKED", "600",
            "LCI_ATTR_CLOSE_TIMEOUT_MS", "7000",
            "LCI_ATTR_STALL_WARNING_MS", "8000",
            "LCI_ATTR_PACKETS", "90");
    Process zero = start(0, "options", environment);
    Process one = start(1, "options", environment);
    String expected = "2 loops, false, 3, 4, 500, 600, PT7S, PT8S, 90 packets";
    assertThat(finish(zero)).contains(expected);
    assertThat(finish(one)).contains(expected);
  }

  @Test
  void aMisspeltOptionInTheEnvironmentIsAnError() throws Exception {
    Process zero = start(0, "options", Map.of("LCI_ATTR_LOPS", "2"));
    assertThat(zero.waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertThat(Files.readString(directory.resolve("out0")))
        .contains("LCI_ATTR_LOPS", "did you mean \"loops\"?");
    assertThat(zero.exitValue()).isNotZero();
  }

  private Process start(int rank, String role) throws IOException {
    return start(rank, role, Map.of());
  }

  private Process start(int rank, String role, Map<String, String> environment) throws IOException {
    if (rank == 0) {
      LciTestProcess.jobDirectory(directory.resolve("job"));
    }
    ProcessBuilder builder =
        LciTestProcess.java(ProcessRank.class, List.of("-Xmx64m"), role)
            .redirectErrorStream(true)
            .redirectOutput(directory.resolve("out" + rank).toFile());
    builder.environment().put("LCI_JOB_DIR", directory.resolve("job").toString());
    builder.environment().put("LCI_RANK", Integer.toString(rank));
    builder.environment().put("LCI_SIZE", "2");
    builder.environment().putAll(environment);
    if (!withJna) {
      builder.command().replaceAll(TwoProcessesTest::withoutJna);
    }
    Process process = builder.start();
    started.add(process);
    return process;
  }

  /** The jar of JNA is on the class path alone. */
  private static String withoutJna(String argument) {
    if (!argument.equals(System.getProperty("java.class.path"))) {
      return argument;
    }
    List<String> entries = new ArrayList<>(Arrays.asList(argument.split(File.pathSeparator)));
    assertThat(entries.removeIf(entry -> entry.matches(".*/jna-[0-9.]+\\.jar"))).isTrue();
    return String.join(File.pathSeparator, entries);
  }

  private String finish(Process process) throws Exception {
    boolean ended = process.waitFor(60, TimeUnit.SECONDS);
    String output = Files.readString(directory.resolve("out" + started.indexOf(process)));
    assertThat(ended).as(output).isTrue();
    assertThat(process.exitValue()).as(output).isZero();
    return output;
  }
}
