/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import static io.lci.metrics.LciTags.LOOP;
import static io.lci.metrics.LciTags.PHASE;

import io.lci.LciLoop;

/**
 * Meters of the event loops.
 *
 * @since 0.1
 */
public enum LoopMeters implements LciMeter {
  /** Where a loop's time goes. */
  TIME(
      MeterDefinition.counter(
          "lci.loop.time",
          "seconds",
          "Time of the loop, by what it did; busy includes what signals do in the user's code.",
          LoopMeters::time,
          LOOP,
          PHASE)),
  /** Crossings into the core. */
  ENTERS(
      MeterDefinition.counter(
          "lci.loop.enters",
          "enters",
          "Crossings into the core in full; each serves a batch.",
          SnapshotView.byLoop("loop_enters"),
          LOOP)),
  /** Turns that took too long. */
  STALLS(
      MeterDefinition.counter(
          "lci.loop.stalls",
          "stalls",
          "Turns that took longer than lci.blocked_warning_ms: a signal blocked the loop, or the machine"
              + " is busy.",
          SnapshotView.byLoop("loop_stalls"),
          LOOP)),
  /** Passes of other loops. */
  HELPED(
      MeterDefinition.counter(
          "lci.loop.helped",
          "passes",
          "Passes of other loops over the devices of this one that found something; see lci.progress.",
          SnapshotView.byLoop("loop_helped"),
          LOOP)),
  /** How often it slept. */
  PARKS(
      MeterDefinition.counter(
          "lci.loop.parks",
          "parks",
          "How often the loop went to sleep.",
          SnapshotView.byLoop("loop_parks"),
          LOOP)),
  /** Errors that nobody could be told. */
  UNCAUGHT(
      MeterDefinition.counter(
          "lci.loop.uncaught",
          "errors",
          "Errors of user code that nobody could be told; each is in the log.",
          SnapshotView.byLoop("loop_uncaught"),
          LOOP));

  private static final double NANOS_PER_SECOND = 1e9;
  private static final String[] PHASES = {"busy", "polling", "parked"};

  @SuppressWarnings("ImmutableEnumChecker") // its readers have no state
  private final MeterDefinition definition;

  LoopMeters(MeterDefinition definition) {
    this.definition = definition;
  }

  @Override
  public MeterDefinition definition() {
    return definition;
  }

  private static void time(SnapshotView view, MeterReader.Series out) {
    for (LciLoop loop : view.runtime().loops()) {
      for (String phase : PHASES) {
        long nanos = view.ofLoop("loop_nanos_" + phase, loop);
        out.add(nanos / NANOS_PER_SECOND, Integer.toString(loop.index()), phase);
      }
    }
  }
}
