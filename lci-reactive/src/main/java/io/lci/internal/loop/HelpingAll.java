/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import java.util.List;
import java.util.SplittableRandom;

/**
 * Helps other loops now and then, whether they are held or not: some of them, from a random one.
 */
final class HelpingAll extends Helping {
  private final EventLoop helper;
  private final List<EventLoop> others;
  private final int everyTurns;
  private final int passes;
  private final SplittableRandom random;
  private int turns;
  private long nextRound = System.nanoTime();

  /**
   * @param everyTurns turns between two rounds
   * @param passes loops that a round helps
   */
  HelpingAll(EventLoop helper, List<EventLoop> others, int everyTurns, int passes) {
    this.helper = helper;
    this.others = others;
    this.everyTurns = everyTurns;
    this.passes = passes;
    this.random = new SplittableRandom(helper.index());
  }

  @Override
  int pass(long now) {
    if (++turns < everyTurns && now - nextRound < 0) {
      return 0;
    }
    turns = 0;
    nextRound = now + LONGEST_PARK_NANOS;
    int from = random.nextInt(others.size());
    int found = 0;
    for (int i = 0; i < passes; i++) {
      if (others.get((from + i) % others.size()).helpedBy(helper)) {
        found++;
      }
    }
    return found;
  }

  @Override
  long longestPark() {
    return LONGEST_PARK_NANOS;
  }
}
