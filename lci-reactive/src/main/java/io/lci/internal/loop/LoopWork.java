/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.loop;

import io.lci.Poster;
import java.util.Map;

/**
 * What a loop serves in each turn beside its own tasks and signals: what is posted and received
 * over its lane. Loop only.
 */
public interface LoopWork {
  /** Appends waiting operations that may go now; returns how many. */
  int resubmit();

  /** Whether operations wait for the next crossing. */
  boolean hasBatch();

  /** Whether these are calls of groups alone, which need progress more than an early crossing. */
  boolean hasCallsAlone();

  /** Whether something waits for what no bell announces. */
  boolean wantsPackets();

  /** Whether the next turn has something to append, so that the loop must not sleep. */
  boolean wantsTurn();

  /**
   * Crosses, with progress; returns how much the core found to do.
   *
   * @param mayStay whether calls of groups may hold it for a microsecond or some
   */
  int enter(boolean mayStay);

  /**
   * Progresses the devices for a loop that stands still; returns whether anything moved. Any
   * thread.
   */
  boolean help();

  /** Hands on what a crossing brought; returns how many records that were. */
  int dispatch();

  /** Crosses with what was appended, and nothing else. */
  void flush();

  /** The loop begins to deliver signals: fresh descriptors have their share of a turn again. */
  void drainBegins();

  /** Whether fresh descriptors have filled their share of a turn, as waiting ones do. */
  boolean hasPostedEnough();

  /**
   * Whether user code that runs now is called in the midst of a batch: nothing may be taken back.
   */
  boolean isInBatch();

  /** What the program posts by on the loop's thread. Any thread. */
  Poster poster();

  /** Tells of destinations that accepted nothing for long. */
  void reportStalls(long now, long limitNanos);

  /** Adds what it counted. Any thread; values are recent. */
  void count(Map<String, Long> into);

  // The end

  /** Whether nothing is under way that a graceful close waits for. */
  boolean isQuiet();

  /** Everything was sent: peers see this rank leave, not fail. */
  void leave();

  /** Fails everything that waits or is under way, and closes what receives. */
  void abandon();

  /** Copies messages that the program retains out of memory that is about to go. */
  void moveOut();

  /** Frees the lane. */
  void free();
}
