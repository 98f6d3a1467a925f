/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.heat;

/**
 * Some rows of a square plate: all of it, or the strip of one rank. Each cell takes the mean of its
 * four neighbours. The rim is cold, and three discs are kept hot.
 */
final class Plate {
  private static final double[][] DISCS = {
    {0.30, 0.30, 0.10}, {0.72, 0.42, 0.07}, {0.42, 0.74, 0.13}
  };
  private static final double HOT = 1;

  private final int cells;
  private final int first;
  private final int rows;
  private final boolean[][] isHot;

  /** With a row of others before and behind them. */
  private double[][] now;

  private double[][] next;

  /**
   * Makes rows, cold but for the discs.
   *
   * @param cells of each edge of the plate
   * @param first the first row
   * @param rows how many, at least one
   */
  Plate(int cells, int first, int rows) {
    this.cells = cells;
    this.first = first;
    this.rows = rows;
    now = new double[rows + 2][cells];
    next = new double[rows + 2][cells];
    isHot = new boolean[rows + 2][cells];
    for (int row = 1; row <= rows; row++) {
      for (int column = 0; column < cells; column++) {
        if (lies(first + row - 1, column)) {
          isHot[row][column] = true;
          now[row][column] = HOT;
          next[row][column] = HOT;
        }
      }
    }
  }

  /** Whether a cell lies in a disc. */
  private boolean lies(int row, int column) {
    double y = (row + 0.5) / cells;
    double x = (column + 0.5) / cells;
    for (double[] disc : DISCS) {
      if (Math.hypot(x - disc[0], y - disc[1]) < disc[2]) {
        return true;
      }
    }
    return false;
  }

  int rows() {
    return rows;
  }

  /** A row of the strip, from 0; those of others are -1 and {@link #rows}. */
  double[] row(int row) {
    return now[row + 1];
  }

  /**
   * Computes some rows of the next step.
   *
   * @return the largest change of a cell
   */
  double spread(int from, int to) {
    double most = 0;
    for (int row = from + 1; row <= to; row++) {
      most = Math.max(most, spreadRow(row));
    }
    return most;
  }

  private double spreadRow(int row) {
    int whole = first + row - 1;
    if (whole == 0 || whole == cells - 1) {
      return 0;
    }
    double most = 0;
    for (int column = 1; column < cells - 1; column++) {
      if (isHot[row][column]) {
        continue;
      }
      double mean =
          (now[row - 1][column]
                  + now[row + 1][column]
                  + now[row][column - 1]
                  + now[row][column + 1])
              / 4;
      most = Math.max(most, Math.abs(mean - now[row][column]));
      next[row][column] = mean;
    }
    return most;
  }

  /** All rows of the next step are computed: they are the present ones. */
  void turn() {
    double[][] old = now;
    now = next;
    next = old;
  }
}
