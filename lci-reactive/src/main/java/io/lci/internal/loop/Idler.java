/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import io.lci.IdleStrategy;
import java.util.concurrent.TimeUnit;

/** What a loop does between an empty turn and the next one. Loop only. [V11] */
final class Idler {
  /** Peer death is looked for at least so often. */
  private static final long LONGEST_PARK_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

  /** No doorbell tells of room for packets. */
  private static final long PACKET_PARK_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  private final EventLoop loop;
  private final LoopBell bell;
  private final LoopWork work;
  private final IdleStrategy strategy;
  private final LoopTime time;
  private long empty;

  /** Read by snapshots without order. */
  long parks;

  Idler(EventLoop loop, LoopBell bell, LoopWork work, IdleStrategy strategy, LoopTime time) {
    this.loop = loop;
    this.bell = bell;
    this.work = work;
    this.strategy = strategy;
    this.time = time;
  }

  /** Whether it would spin if the turn found nothing. Of strategies of programs nobody knows. */
  boolean spins() {
    return strategy instanceof IdleSteps steps && empty < steps.spins();
  }

  /** The last turn found something. */
  void worked() {
    empty = 0;
  }

  /** The last turn found nothing: passes the time, at most {@code longest} nanoseconds of it. */
  void idle(long longest) {
    switch (strategy.next(++empty)) {
      case SPIN -> Thread.onSpinWait();
      case YIELD -> Thread.yield();
      case PARK -> park(longest);
    }
  }

  private void park(long longest) {
    bell.announcePark();
    if (staysAwake()) {
      bell.withdrawPark();
      return;
    }
    long limit = work.wantsPackets() ? PACKET_PARK_NANOS : LONGEST_PARK_NANOS;
    limit = Math.min(limit, loop.longestPark());
    limit = loop.untilDue(Math.min(limit, Math.max(0, longest)));
    parks++;
    long from = System.nanoTime();
    bell.park(limit);
    time.slept(from, System.nanoTime());
    loop.enterSoon(); // some of what woke it shows only in an enter
  }

  /** What came before the announcement woke nobody. */
  private boolean staysAwake() {
    return loop.hasOwnWork() || work.wantsTurn() || work.hasBatch();
  }
}
