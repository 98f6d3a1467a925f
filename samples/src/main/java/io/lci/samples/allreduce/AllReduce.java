/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.allreduce;

import io.lci.LciRuntime;
import io.lci.collective.Algorithm;
import io.lci.collective.Collectives;
import io.lci.collective.ReduceOp;
import io.lci.collective.Vec;
import io.lci.rma.LciBuffer;
import io.lci.samples.Samples;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import reactor.core.publisher.Mono;

/**
 * Adds up a vector of each rank, element by element, on all ranks: what data-parallel training does
 * with gradients.
 */
@Command(
    name = "allreduce",
    mixinStandardHelpOptions = true,
    description = {
      "Adds up a vector of each rank, on all ranks, and checks the sums.",
      "Prints the time of the middle round, and how fast vectors became sums."
    })
public final class AllReduce implements Callable<Integer> {
  private static final Duration LIMIT = Duration.ofMinutes(5);

  /** Sums of whole numbers up to this are exact, in whatever order they are added. */
  private static final int MOST_VALUE = 1_000;

  private static final int MOST_ELEMENTS = 1 << 27;

  @Option(
      names = "--elements",
      paramLabel = "N",
      defaultValue = "1000000",
      description = "Doubles in each vector. Default ${DEFAULT-VALUE}.")
  int elements;

  @Option(
      names = "--rounds",
      paramLabel = "N",
      defaultValue = "20",
      description = "How often. Default ${DEFAULT-VALUE}.")
  int rounds;

  @Option(
      names = "--algorithm",
      paramLabel = "NAME",
      defaultValue = "AUTO",
      description =
          "How: ${COMPLETION-CANDIDATES}. Some are for other calls, and refused. Default ${DEFAULT-VALUE}.")
  Algorithm algorithm = Algorithm.AUTO;

  @Spec @Nullable CommandSpec spec;

  /** Runs as a program of its own. */
  public static void main(String[] args) {
    Samples.run(new AllReduce(), args);
  }

  @Override
  public Integer call() {
    Samples.require(
        spec,
        elements >= 1 && elements <= MOST_ELEMENTS,
        "--elements must be 1 to " + MOST_ELEMENTS + ", not " + elements);
    Samples.require(spec, rounds >= 1, "--rounds must be at least 1, not " + rounds);
    try (LciRuntime lci = LciRuntime.create()) {
      long[] nanos = run(lci, elements, rounds, algorithm);
      Long slowest = lci.world().allReduce(middle(nanos), ReduceOp.MAX).block(LIMIT);
      if (lci.rank() == 0 && slowest != null) {
        System.out.println(report(lci.size(), slowest));
      }
      lci.barrier().block(LIMIT);
    }
    return 0;
  }

  private String report(int ranks, long nanos) {
    double bytes = 8.0 * elements;
    return String.format(
        Locale.ROOT,
        "%d ranks, %d doubles each: all sums are right; a round took %.1f us (%.2f GB/s)",
        ranks,
        elements,
        nanos / 1e3,
        bytes / nanos);
  }

  /**
   * Takes part in all rounds.
   *
   * @return how long each took this rank
   * @throws IllegalStateException if a sum is wrong
   */
  static long[] run(LciRuntime lci, int elements, int rounds, Algorithm algorithm) {
    Collectives world = lci.world().with(algorithm);
    LciBuffer mine = lci.memory().buffer(8 * elements);
    LciBuffer sums = lci.memory().buffer(8 * elements);
    // Made once: each subscription is one call.
    Mono<Void> round = world.allReduce(Vec.doubles(mine), Vec.doubles(sums), ReduceOp.SUM);
    long[] nanos = new long[rounds];
    for (int i = 0; i < rounds; i++) {
      fill(mine.view(), elements, lci.rank(), i);
      lci.world().barrier().block(LIMIT);
      long start = System.nanoTime();
      round.block(LIMIT);
      nanos[i] = System.nanoTime() - start;
      check(sums.view(), elements, lci.size(), i);
    }
    return nanos;
  }

  private static void fill(ByteBuffer vector, int elements, int rank, int round) {
    for (int i = 0; i < elements; i++) {
      vector.putDouble(8 * i, value(i, rank, round));
    }
  }

  private static void check(ByteBuffer sums, int elements, int ranks, int round) {
    for (int i = 0; i < elements; i++) {
      double sum = 0;
      for (int rank = 0; rank < ranks; rank++) {
        sum += value(i, rank, round);
      }
      if (sums.getDouble(8 * i) != sum) {
        throw new IllegalStateException(
            "element %d of round %d is %s, not %s".formatted(i, round, sums.getDouble(8 * i), sum));
      }
    }
  }

  private static double value(int element, int rank, int round) {
    return (element + 31L * rank + 7L * round) % MOST_VALUE;
  }

  static long middle(long[] nanos) {
    long[] sorted = nanos.clone();
    Arrays.sort(sorted);
    return sorted[sorted.length / 2];
  }
}
