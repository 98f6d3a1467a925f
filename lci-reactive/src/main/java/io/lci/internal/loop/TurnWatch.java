/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

/**
 * Sees from the outside for how long a loop stands still. It takes no time of the loop: a turn has
 * a number, and one that is the same at a later look is as old as that look. One thread at a time.
 */
final class TurnWatch {
  private long mark;
  private long sinceNanos;
  private boolean looked;

  /** Looks; returns for how many nanoseconds the mark is known not to have moved. */
  long look(EventLoop loop, long now) {
    long current = loop.turnMark();
    if (current != mark || !looked) {
      looked = true;
      mark = current;
      sinceNanos = now;
    }
    return now - sinceNanos;
  }

  /** Whether the loop stands where it stood at the last look. */
  boolean isSame(EventLoop loop) {
    return loop.turnMark() == mark;
  }

  /** Whether the last look found it in a turn. */
  boolean isInTurn() {
    return (mark & 1) != 0;
  }
}
