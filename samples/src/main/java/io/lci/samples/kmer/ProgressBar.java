/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kmer;

import io.lci.samples.kmer.common.JobProgress;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.scheduler.Schedulers;

/** Shows a bar on a terminal, one line that is written over and over. */
final class ProgressBar {
  private static final Path STDERR = Path.of("/proc/self/fd/2");
  private static final Duration PERIOD = Duration.ofMillis(200);
  private static final int WIDTH = 40;

  private ProgressBar() {}

  /** Whether standard error is a terminal. */
  static boolean isTerminal() {
    try {
      String target = Files.readSymbolicLink(STDERR).toString();
      return target.startsWith("/dev/pts/") || target.startsWith("/dev/tty");
    } catch (IOException | UnsupportedOperationException e) {
      return false;
    }
  }

  /** Starts showing; ends when disposed. */
  static Disposable show(JobProgress progress, PrintStream out) {
    return Flux.interval(PERIOD, Schedulers.boundedElastic())
        .onBackpressureDrop()
        .doOnNext(tick -> out.print(line(progress)))
        .doFinally(signal -> out.print("\r\033[K"))
        .subscribe();
  }

  static String line(JobProgress progress) {
    String phase = progress.phase();
    if (phase.isEmpty()) {
      return "\r\033[K";
    }
    int filled = (int) (progress.part() * WIDTH);
    return String.format(
        "\r%s [%s%s] %3.0f%% %6.2f M k-mers/s by rank 0\033[K",
        phase,
        "#".repeat(filled),
        ".".repeat(WIDTH - filled),
        100 * progress.part(),
        progress.rate() / 1e6);
  }
}
