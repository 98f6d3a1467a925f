/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.barrier;

import io.lci.LciRuntime;
import io.lci.samples.Samples;
import java.time.Duration;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Runs a barrier that is a completion graph again and again, with ranks that come late. [W5] */
@Command(
    name = "graph-barrier",
    mixinStandardHelpOptions = true,
    description = {
      "Runs a barrier that is a completion graph. Each time some ranks come late; no rank may leave"
          + " before the last has entered, and all check that."
    })
public final class GraphBarrierCheck implements Callable<Integer> {
  private static final long TAG = 1;
  private static final Duration LIMIT = Duration.ofMinutes(5);

  @Option(
      names = "--runs",
      paramLabel = "N",
      defaultValue = "3",
      description = "How often. Default ${DEFAULT-VALUE}.")
  int runs;

  @Option(
      names = "--late",
      paramLabel = "MS",
      defaultValue = "20",
      description = "Most milliseconds by which a rank comes late. Default ${DEFAULT-VALUE}.")
  int late;

  @Option(
      names = "--seed",
      paramLabel = "N",
      defaultValue = "1",
      description = "Seed of the delays. Default ${DEFAULT-VALUE}.")
  long seed;

  @Spec @Nullable CommandSpec spec;

  /** Runs as a program of its own. */
  public static void main(String[] args) {
    Samples.run(new GraphBarrierCheck(), args);
  }

  @Override
  public Integer call() {
    Samples.require(spec, runs >= 1, "--runs must be at least 1, not " + runs);
    Samples.require(spec, late >= 0, "--late must not be negative: " + late);
    try (LciRuntime lci = LciRuntime.create()) {
      run(lci, runs, delays(lci.rank())).block(LIMIT);
      if (lci.rank() == 0) {
        System.out.printf(
            "%d runs: no rank of %d left before the last entered%n", runs, lci.size());
      }
      lci.barrier().block(LIMIT);
    }
    return 0;
  }

  private Supplier<Duration> delays(int rank) {
    SplittableRandom random = new SplittableRandom(seed + rank);
    return () -> Duration.ofMillis(random.nextInt(late + 1));
  }

  /** Completes when this rank has left the last run; fails if it left one too early. */
  static Mono<Void> run(LciRuntime lci, int runs, Supplier<Duration> delays) {
    return Mono.using(
        () -> new GraphBarrier(lci, TAG),
        barrier ->
            Entries.create(lci)
                .flatMap(
                    entries ->
                        repeat(runs, entries, delays, barrier.enter()).then(entries.close())),
        GraphBarrier::dispose);
  }

  /** Enters {@code barrier} again and again, each time after a delay; checks whenever it leaves. */
  static Mono<Void> repeat(
      int runs, Entries entries, Supplier<Duration> delays, Mono<Void> barrier) {
    return Flux.range(1, runs)
        .concatMap(
            run ->
                Mono.delay(delays.get())
                    .then(entries.write(run))
                    .then(barrier)
                    .then(Mono.fromRunnable(() -> entries.check(run))))
        .then();
  }
}
