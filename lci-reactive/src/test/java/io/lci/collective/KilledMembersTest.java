/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.collective;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.testing.LciTestProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.io.TempDir;

/** Processes that make calls and streams of groups are killed, one after the other. */
class KilledMembersTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final int RANKS = 4;

  /** What each survivor has under way. */
  private static final int ENDS = 5;

  private final List<Process> members = new ArrayList<>();

  @TempDir Path directory;

  @AfterEach
  void endProcesses() throws InterruptedException {
    for (Process process : members) {
      process.destroyForcibly().waitFor();
    }
  }

  /** {@code -Dlci.test.seed=N} makes the pauses of another run. */
  // Proves: J15 J25
  // On: processes
  @RepeatedTest(3)
  void allThatTheOthersHaveUnderWayEndsAndNamesTheDead() throws Exception {
    long seed = Long.getLong("lci.test.seed", new Random().nextLong());
    System.out.println("lci.test.seed=" + seed);
    Random random = new Random(seed);
    LciTestProcess.jobDirectory(directory.resolve("job"));
    for (int rank = 0; rank < RANKS; rank++) {
      members.add(start(rank));
    }
    for (int victim = RANKS - 1; victim > 0; victim--) {
      awaitLine(0, victim, "under way by " + (victim + 1));
      Thread.sleep(random.nextInt(300));
      members.get(victim).destroyForcibly().waitFor();
      List<String> dead = Collections.nCopies(ENDS, "PeerFailedException " + victim);
      awaitLine(0, victim - 1, "ended by " + (victim + 1) + ": " + dead);
    }
    assertThat(members.get(0).waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertThat(members.get(0).exitValue()).as(output(0)).isZero();
  }

  /** Ranks say so. */
  private void awaitLine(int first, int last, String line) throws IOException {
    for (int rank = first; rank <= last; rank++) {
      int of = rank;
      await()
          .atMost(LIMIT)
          .until(() -> output(of).lines().anyMatch(line::equals) || !members.get(of).isAlive());
      assertThat(output(of).lines()).as("rank " + of).contains(line);
    }
  }

  private String output(int rank) throws IOException {
    return Files.readString(directory.resolve("out" + rank));
  }

  private Process start(int rank) throws IOException {
    List<String> options = List.of("-Xmx64m");
    ProcessBuilder builder =
        LciTestProcess.java(KilledMember.class, options)
            .redirectErrorStream(true)
            .redirectOutput(directory.resolve("out" + rank).toFile());
    builder.environment().put("LCI_JOB_DIR", directory.resolve("job").toString());
    builder.environment().put("LCI_RANK", Integer.toString(rank));
    builder.environment().put("LCI_SIZE", Integer.toString(RANKS));
    return builder.start();
  }
}
