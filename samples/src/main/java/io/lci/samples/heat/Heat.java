/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.heat;

import io.lci.LciRuntime;
import io.lci.samples.Samples;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * Heat spreads over a plate that lies on all ranks in strips: neighbours exchange the rows between
 * them, all find out together when they are done, and rank 0 gathers the plate for a picture.
 */
@Command(
    name = "heat",
    mixinStandardHelpOptions = true,
    description = {
      "Lets heat spread from three hot discs over a cold plate, until nothing changes any more.",
      "Rank 0 writes a picture of it. The plate is the same on any number of ranks."
    })
public final class Heat implements Callable<Integer> {
  private static final Duration LIMIT = Duration.ofMinutes(10);
  private static final int MOST_CELLS = 8_192;
  private static final int LOOK_EVERY = 50;

  @Option(
      names = "--cells",
      paramLabel = "N",
      defaultValue = "256",
      description = "Cells of each edge of the plate. Default ${DEFAULT-VALUE}.")
  int cells;

  @Option(
      names = "--steps",
      paramLabel = "N",
      defaultValue = "20000",
      description = "At most so many steps. Default ${DEFAULT-VALUE}.")
  int steps;

  @Option(
      names = "--least",
      paramLabel = "CHANGE",
      defaultValue = "1e-5",
      description =
          "A change of a cell in a step that counts as none; the discs have 1. Default ${DEFAULT-VALUE}.")
  double least;

  @Option(
      names = {"-o", "--output"},
      paramLabel = "FILE",
      defaultValue = "heat.png",
      description = "The picture. Default ${DEFAULT-VALUE}.")
  Path output = Path.of("heat.png");

  @Spec @Nullable CommandSpec spec;

  /** Runs as a program of its own. */
  public static void main(String[] args) {
    Samples.run(new Heat(), args);
  }

  @Override
  public Integer call() throws IOException {
    Samples.require(
        spec,
        cells >= 1 && cells <= MOST_CELLS,
        "--cells must be 1 to " + MOST_CELLS + ", not " + cells);
    Samples.require(spec, steps >= 0, "--steps must be at least 0, not " + steps);
    try (LciRuntime lci = LciRuntime.create()) {
      Samples.require(
          spec, cells >= lci.size(), "--cells must be at least the number of ranks, not " + cells);
      Strip strip = new Strip(lci, cells);
      int taken = strip.run(steps, LOOK_EVERY, least);
      double[] plate = strip.gather();
      if (plate != null) {
        HeatPicture.write(plate, cells, output);
        System.out.printf(
            "%d ranks, %d x %d cells, %d steps: %s%n", lci.size(), cells, cells, taken, output);
      }
      lci.barrier().block(LIMIT);
    }
    return 0;
  }
}
