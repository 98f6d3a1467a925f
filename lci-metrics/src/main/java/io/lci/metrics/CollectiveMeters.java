/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import static io.lci.metrics.LciTags.ALGORITHM;
import static io.lci.metrics.LciTags.CALL;
import static io.lci.metrics.LciTags.DEVICE;

/**
 * Meters of calls of groups. Those of an algorithm are there once a call has ended that uses it.
 *
 * @since 0.1
 */
public enum CollectiveMeters implements LciMeter {
  /** How long calls take. */
  TIME(
      MeterDefinition.timer(
          "lci.collective",
          "From a call's turn in the order of its context to its end at this member, with the time that it waits for"
              + " others; each call that ended well.",
          CALL,
          ALGORITHM)),
  /** Bytes of results. */
  BYTES(
      MeterDefinition.told(
          "lci.collective.results",
          "bytes",
          "Bytes of results that calls have given this member.",
          CALL,
          ALGORITHM)),
  /** Calls that stand still. */
  STALLS(
      MeterDefinition.counter(
          "lci.collective.stalls",
          "calls",
          "Calls that did not go on for coll_stall_ms: the log names the members that they wait for.",
          SnapshotView.byDevice("collective_stalls"),
          DEVICE));

  @SuppressWarnings("ImmutableEnumChecker") // its readers have no state
  private final MeterDefinition definition;

  CollectiveMeters(MeterDefinition definition) {
    this.definition = definition;
  }

  @Override
  public MeterDefinition definition() {
    return definition;
  }
}
