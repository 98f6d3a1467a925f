/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.completion;

import org.jspecify.annotations.Nullable;

/** The numbers of a graph's runs, as the core counts them. Loop only. */
final class RunNumbers {
  /** The core tells runs that are further apart not surely from each other. */
  static final long MOST_APART = 0x7FFF;

  private final boolean perRun;
  private boolean any;
  private long last;
  private boolean failed;

  /**
   * @param perRun whether operations of the graph carry the number
   */
  RunNumbers(boolean perRun) {
    this.perRun = perRun;
  }

  /** Throws if the next run cannot have this number, or none. */
  void check(@Nullable Long given) {
    if (given == null) {
      if (failed && perRun) {
        throw new IllegalStateException(
            "run "
                + last
                + " of the graph failed or was cancelled, so other ranks may be in another one;"
                + " agree with them on a number above it, and call run(number)");
      }
    } else if (any && (given <= last || given - last > MOST_APART)) {
      throw new IllegalArgumentException(
          "after run "
              + last
              + " the number of a run is at most "
              + MOST_APART
              + " above: "
              + given);
    }
  }

  /** A run that the core had started is over. */
  void ended(@Nullable Long given, boolean well) {
    last = given != null ? given : any ? last + 1 : 1;
    any = true;
    failed = !well;
  }
}
