/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.error.AffinityException;
import io.lci.internal.runtime.Runtimes;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Mono;

/** Loops that are bound to CPUs, by offsets into those that may be used. */
@ExtendWith(LciLeakCheck.class)
class AffinityTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  /** The CPUs that the calling thread may use, as the system says. */
  private static List<Integer> allowed() {
    try {
      String list =
          Files.readAllLines(Path.of("/proc/thread-self/status")).stream()
              .filter(line -> line.startsWith("Cpus_allowed_list:"))
              .map(line -> line.substring(line.indexOf(':') + 1).trim())
              .findFirst()
              .orElseThrow();
      List<Integer> cpus = new ArrayList<>();
      for (String range : list.split(",")) {
        String[] ends = range.split("-");
        int last = Integer.parseInt(ends[ends.length - 1]);
        for (int cpu = Integer.parseInt(ends[0]); cpu <= last; cpu++) {
          cpus.add(cpu);
        }
      }
      return cpus;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static List<Integer> allowed(LciLoop loop) {
    return Mono.fromCallable(AffinityTest::allowed).subscribeOn(loop.scheduler()).block(LIMIT);
  }

  @Test
  void eachLoopGetsTheCpuOfItsOffset() {
    List<Integer> all = allowed();
    int last = all.size() - 1;
    LciOptions options = LciOptions.builder().loops(2).affinity(last, 0).build();
    try (LciTestJob job = LciTestJob.start(1, options)) {
      assertThat(allowed(job.rank(0).loops().get(0))).containsExactly(all.get(last));
      assertThat(allowed(job.rank(0).loops().get(1))).containsExactly(all.get(0));
    }
    assertThat(allowed()).isEqualTo(all); // no other thread is bound
  }

  @Test
  void withoutOffsetsLoopsMayRunEverywhere() {
    try (LciTestJob job = LciTestJob.start(1)) {
      assertThat(allowed(job.rank(0).loops().get(0))).isEqualTo(allowed());
    }
  }

  /** It is refused before the job is joined: nobody waits for a rank that fails. */
  @Test
  void anOffsetOutOfRangeIsATypedError() {
    int cpus = allowed().size();
    LciOptions options = LciOptions.builder().affinity(cpus).build();
    long handle = Runtimes.createJob(2);
    try {
      assertThatThrownBy(() -> Runtimes.create(options, handle, 0))
          .isInstanceOf(AffinityException.class)
          .hasMessageContaining("offset " + cpus)
          .hasMessageContaining(cpus + " CPUs");
    } finally {
      Runtimes.freeJob(handle);
    }
  }
}
