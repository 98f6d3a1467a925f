/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import io.lci.ProgressStrategy;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Passes of a loop over the devices of other loops, as a {@link ProgressStrategy} says. Loop only.
 */
abstract class Helping {
  /** Longest sleep of a loop that others may need. */
  static final long LONGEST_PARK_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

  /** The loop progresses its own devices alone. */
  static final Helping NONE =
      new Helping() {
        @Override
        int pass(long now) {
          return 0;
        }

        @Override
        long longestPark() {
          return Long.MAX_VALUE;
        }
      };

  /**
   * @param helper the loop that takes the passes
   * @param all the loops of its runtime, itself included
   */
  static Helping by(EventLoop helper, List<EventLoop> all, ProgressStrategy strategy) {
    List<EventLoop> others = all.stream().filter(loop -> loop != helper).toList();
    if (others.isEmpty()) {
      return NONE;
    }
    return switch (strategy.kind()) {
      case LOCAL -> NONE;
      case HELP -> new HelpingStuck(helper, others, strategy.after());
      case RANDOM -> new HelpingAll(helper, others, strategy.everyTurns(), 1);
      case GLOBAL -> new HelpingAll(helper, others, strategy.everyTurns(), others.size());
    };
  }

  /** Called in each turn: takes the passes that are due; returns how many found something. */
  abstract int pass(long now);

  /** How long the loop may sleep, in nanoseconds. */
  abstract long longestPark();
}
