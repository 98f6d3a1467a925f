/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.heat;

import io.lci.LciRuntime;
import io.lci.collective.Group;
import io.lci.collective.ReduceOp;
import io.lci.collective.Vec;
import io.lci.rma.LciBuffer;
import java.nio.DoubleBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The rows of this rank. In each step ranks that lie beside each other give each other the rows at
 * their border, while they compute those between.
 */
final class Strip {
  private static final Duration LIMIT = Duration.ofMinutes(10);

  private final Group world;
  private final int cells;
  private final Plate plate;

  /** The ranks before and behind this one, if they are there, and what goes to them and comes. */
  private final int[] beside;

  private final LciBuffer mine;
  private final LciBuffer theirs;

  Strip(LciRuntime lci, int cells) {
    world = lci.world();
    this.cells = cells;
    int first = firstRow(world.rank());
    plate = new Plate(cells, first, firstRow(world.rank() + 1) - first);
    beside =
        IntStream.of(world.rank() - 1, world.rank() + 1)
            .filter(rank -> rank >= 0 && rank < world.size())
            .toArray();
    mine = lci.memory().buffer(Double.BYTES * cells * Math.max(1, beside.length));
    theirs = lci.memory().buffer(Double.BYTES * cells * Math.max(1, beside.length));
  }

  private int firstRow(int rank) {
    return (int) ((long) cells * rank / world.size());
  }

  /**
   * Goes on until little changes.
   *
   * @param steps at most so many
   * @param every so many steps all ranks look whether they are done
   * @param least a change of a cell in a step that counts as none
   * @return how many steps it took, the same on all ranks
   */
  int run(int steps, int every, double least) {
    for (int step = 1; step <= steps; step++) {
      double change = step();
      if (step % every == 0 && mostAnywhere(change) < least) {
        return step;
      }
    }
    return steps;
  }

  private double mostAnywhere(double change) {
    return world.allReduce(change, ReduceOp.MAX).blockOptional(LIMIT).orElseThrow();
  }

  private double step() {
    CompletableFuture<Void> exchange = exchange();
    int rows = plate.rows();
    double change = plate.spread(1, rows - 1);
    exchange.orTimeout(LIMIT.toSeconds(), TimeUnit.SECONDS).join();
    takeTheirs();
    change = Math.max(change, plate.spread(0, 1));
    if (rows > 1) {
      change = Math.max(change, plate.spread(rows - 1, rows));
    }
    plate.turn();
    return change;
  }

  private CompletableFuture<Void> exchange() {
    if (beside.length == 0) {
      return CompletableFuture.completedFuture(null);
    }
    DoubleBuffer out = mine.view().asDoubleBuffer();
    for (int rank : beside) {
      out.put(plate.row(rank < world.rank() ? 0 : plate.rows() - 1));
    }
    return world.neighbours(beside, Vec.doubles(mine), beside, Vec.doubles(theirs)).toFuture();
  }

  private void takeTheirs() {
    DoubleBuffer in = theirs.view().asDoubleBuffer();
    for (int rank : beside) {
      in.get(plate.row(rank < world.rank() ? -1 : plate.rows()));
    }
  }

  /** All rows, one after the other; null on all ranks but the first. */
  double @Nullable [] gather() {
    double[] rows = new double[plate.rows() * cells];
    for (int row = 0; row < plate.rows(); row++) {
      System.arraycopy(plate.row(row), 0, rows, row * cells, cells);
    }
    long[] counts = new long[world.size()];
    Arrays.setAll(counts, rank -> (long) cells * (firstRow(rank + 1) - firstRow(rank)));
    double[] all = world.rank() == 0 ? new double[cells * cells] : null;
    world.gather(0, Vec.doubles(rows), all == null ? null : Vec.doubles(all), counts).block(LIMIT);
    return all;
  }
}
