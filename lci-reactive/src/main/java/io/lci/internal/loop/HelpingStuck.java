/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import io.lci.internal.core.Nanos;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Helps the loops that user code holds in one turn. The marks of the others are read now and then,
 * as each read takes a cache line from its loop; a loop that was found stuck gets a pass in every
 * turn until its mark moves.
 */
final class HelpingStuck extends Helping {
  /** Looks in the time after which a loop is helped. */
  private static final int LOOKS = 4;

  /** Longest sleep while a loop is stuck: no bell tells of what comes to its devices. */
  private static final long PARK_BESIDE_STUCK_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  /** Another loop, as it was at the last look. */
  private static final class Other {
    final EventLoop loop;
    final TurnWatch watch = new TurnWatch();
    boolean stuck;

    Other(EventLoop loop) {
      this.loop = loop;
    }
  }

  private final EventLoop helper;
  private final List<Other> others;

  /** Between two turns an invoker loop is held by the program, a dedicated one sleeps. */
  private final boolean alsoBetweenTurns;

  private final long afterNanos;
  private final long lookNanos;
  private long nextLook = System.nanoTime();
  private int stuck;

  HelpingStuck(EventLoop helper, List<EventLoop> others, Duration after) {
    this.helper = helper;
    this.others = others.stream().map(Other::new).toList();
    this.alsoBetweenTurns = helper.core().options.invoker();
    this.afterNanos = Nanos.of(after);
    this.lookNanos = Math.max(1, afterNanos / LOOKS);
  }

  @Override
  int pass(long now) {
    if (now - nextLook >= 0) {
      nextLook = now + lookNanos;
      look(now);
    }
    return stuck == 0 ? 0 : helpStuck();
  }

  private void look(long now) {
    stuck = 0;
    for (Other other : others) {
      long time = other.watch.look(other.loop, now);
      other.stuck = time >= afterNanos && (alsoBetweenTurns || other.watch.isInTurn());
      if (other.stuck) {
        stuck++;
      }
    }
  }

  private int helpStuck() {
    int found = 0;
    for (Other other : others) {
      if (other.stuck && other.watch.isSame(other.loop) && other.loop.helpedBy(helper)) {
        found++;
      }
    }
    return found;
  }

  @Override
  long longestPark() {
    return stuck == 0 ? LONGEST_PARK_NANOS : PARK_BESIDE_STUCK_NANOS;
  }
}
