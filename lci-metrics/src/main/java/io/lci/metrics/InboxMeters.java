/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import static io.lci.metrics.LciTags.CAUSE;
import static io.lci.metrics.LciTags.PORT;

import io.lci.LciSnapshot.InboxState;
import io.lci.LciSnapshot.Stall;
import java.util.function.ToDoubleFunction;

/**
 * Meters of open inboxes; they come and go with them.
 *
 * @since 0.1
 */
public enum InboxMeters implements LciMeter {
  /** Messages stored. */
  DEPTH(
      MeterDefinition.passing(
          "lci.inbox.depth",
          "messages",
          "Messages that are stored at this rank and not delivered.",
          each(InboxState::depth),
          PORT)),
  /** Most messages stored. */
  CAPACITY(
      MeterDefinition.passing(
          "lci.inbox.capacity",
          "messages",
          "Most messages that the inbox may store.",
          each(InboxState::capacity),
          PORT)),
  /** Retained messages. */
  RETAINED(
      MeterDefinition.passing(
          "lci.inbox.retained",
          "messages",
          "Messages of receiveRetained() that are not released.",
          each(InboxState::retained),
          PORT)),
  /** Whether it delivers nothing although messages are stored. */
  STALLED(
      MeterDefinition.passing(
          "lci.inbox.stalled",
          null,
          "1 while messages are stored and none is delivered, by cause: no_subscriber, no_demand"
              + " (the subscriber asks for nothing), retained (it holds as many as it may).",
          InboxMeters::stalled,
          PORT,
          CAUSE));

  @SuppressWarnings("ImmutableEnumChecker") // its readers have no state
  private final MeterDefinition definition;

  InboxMeters(MeterDefinition definition) {
    this.definition = definition;
  }

  @Override
  public MeterDefinition definition() {
    return definition;
  }

  private static MeterReader each(ToDoubleFunction<InboxState> value) {
    return (view, out) ->
        view.snapshot()
            .inboxes()
            .forEach(inbox -> out.add(value.applyAsDouble(inbox), inbox.port()));
  }

  private static void stalled(SnapshotView view, MeterReader.Series out) {
    for (InboxState inbox : view.snapshot().inboxes()) {
      for (Stall stall : Stall.values()) {
        if (stall != Stall.NONE) {
          out.add(inbox.stall() == stall ? 1 : 0, inbox.port(), SnapshotView.lowerCase(stall));
        }
      }
    }
  }
}
