/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import static io.lci.metrics.LciTags.CAUSE;
import static io.lci.metrics.LciTags.DEVICE;
import static io.lci.metrics.LciTags.PEER;
import static io.lci.metrics.LciTags.PORT;
import static io.lci.metrics.LciTags.REASON;

import io.lci.LciSnapshot.WaitingState;
import io.lci.PostOutcome;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Meters of flow control: credit, backlog, and discarded messages.
 *
 * @since 0.1
 */
public enum FlowMeters implements LciMeter {
  /** Destinations whose operations wait for credit. */
  CREDIT_STALLED(
      MeterDefinition.gauge(
          "lci.credit.stalled",
          "destinations",
          "Destinations (a peer by a device) at whose port messages of this rank wait for credit: look at the inbox there.",
          FlowMeters::creditStalled,
          PORT,
          PEER)),
  /** Destinations without progress. */
  STALLED(
      MeterDefinition.gauge(
          "lci.stalled.destinations",
          "destinations",
          "Destinations that took nothing for as long as LciOptions.stallWarning says although"
              + " operations wait, by the last answer; each is a warning in the log, too.",
          FlowMeters::stalled,
          REASON)),
  /** Credit that is out. */
  CREDIT_LEASED(
      MeterDefinition.gauge(
          "lci.credit.leased",
          "messages",
          "Messages that peers may send, or have stored, at the ports and engines of this rank.",
          SnapshotView.total("credits_leased"))),
  /** Backlog. */
  BACKLOG_DEPTH(
      MeterDefinition.gauge(
          "lci.backlog.depth",
          "operations",
          "Operations and control messages in the backlog, because the peer takes no more.",
          SnapshotView.byDevice("backlog_depth"),
          DEVICE)),
  /** Operations that went into the backlog. */
  BACKLOG_PUSHED(
      MeterDefinition.counter(
          "lci.backlog.pushed",
          "operations",
          "Operations and control messages that went into the backlog.",
          SnapshotView.byDevice("backlog_push"),
          DEVICE)),
  /** Discarded messages and signals. */
  DISCARDED(
      MeterDefinition.counter(
          "lci.discarded",
          "messages",
          "Discarded messages and signals, by cause: target (the port, engine, queue or peer is"
              + " gone), signal (the lane is gone), late (the subscriber had cancelled, or had not"
              + " requested it before the close).",
          FlowMeters::discarded,
          CAUSE));

  private static final List<Map.Entry<String, String>> DISCARDS =
      List.of(
          Map.entry("target", "discarded"),
          Map.entry("signal", "signals_dropped"),
          Map.entry("late", "loop_late_data"));

  @SuppressWarnings("ImmutableEnumChecker") // its readers have no state
  private final MeterDefinition definition;

  FlowMeters(MeterDefinition definition) {
    this.definition = definition;
  }

  @Override
  public MeterDefinition definition() {
    return definition;
  }

  private static void creditStalled(SnapshotView view, MeterReader.Series out) {
    Map<String, Map<String, Integer>> byPort = new TreeMap<>();
    for (WaitingState waiting : view.snapshot().waiting()) {
      if (waiting.reason() == PostOutcome.RETRY_NOCREDIT && !waiting.port().isEmpty()) {
        byPort
            .computeIfAbsent(waiting.port(), port -> new TreeMap<>())
            .merge(view.options().peerTag(waiting.rank()), 1, Integer::sum);
      }
    }
    byPort.forEach((port, byPeer) -> byPeer.forEach((peer, count) -> out.add(count, port, peer)));
  }

  private static void stalled(SnapshotView view, MeterReader.Series out) {
    for (PostOutcome retry : SnapshotView.RETRIES) {
      long count =
          view.snapshot().waiting().stream()
              .filter(waiting -> waiting.stalled() && waiting.reason() == retry)
              .count();
      out.add(count, SnapshotView.tag(retry));
    }
  }

  private static void discarded(SnapshotView view, MeterReader.Series out) {
    DISCARDS.forEach(cause -> out.add(view.counter(cause.getValue()), cause.getKey()));
  }
}
