/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import static io.lci.metrics.LciTags.DEVICE;
import static io.lci.metrics.LciTags.DIRECTION;

/**
 * Meters of the links to ranks that are reached over a network. All stay 0 in a job that has none.
 *
 * @since 0.1
 */
public enum NetworkMeters implements LciMeter {
  /** Open links. */
  LINKS(
      MeterDefinition.gauge(
          "lci.net.links",
          "links",
          "Links to other ranks whose connection is open; each device has its own.",
          SnapshotView.byDevice("links_open"),
          DEVICE)),
  /** Records. */
  RECORDS(
      MeterDefinition.counter(
          "lci.net.records",
          "records",
          "Records of links, those that only report included; a record carries what was ready.",
          NetworkMeters.sentAndReceived("net_records"),
          DIRECTION,
          DEVICE)),
  /** Messages in the records that were sent. */
  MESSAGES(
      MeterDefinition.counter(
          "lci.net.messages",
          "messages",
          "Messages in the records that were sent, the core's own included: over the records sent,"
              + " how many share one.",
          SnapshotView.byDevice("net_messages_sent"),
          DEVICE)),
  /** Bytes. */
  TRANSFERRED(
      MeterDefinition.counter(
          "lci.net.transferred",
          "bytes",
          "Bytes of records on the wire, without what TCP and sealing add; what goes again over a"
              + " new connection counts again.",
          NetworkMeters.sentAndReceived("net_bytes"),
          DIRECTION,
          DEVICE)),
  /** Waits for room at the peer. */
  STALLS(
      MeterDefinition.counter(
          "lci.net.stalls",
          "stalls",
          "Times that a link had messages to send and the peer's windows, or its acknowledgements,"
              + " left no room.",
          SnapshotView.byDevice("net_stalls"),
          DEVICE)),
  /** Connections that broke and were opened anew. */
  RECONNECTS(
      MeterDefinition.counter(
          "lci.net.reconnects",
          "reconnects",
          "Connections of links that broke and were opened anew; nothing is lost or doubled by it.",
          SnapshotView.total("links_resumed"))),
  /** Strangers that were refused. */
  REFUSALS(
      MeterDefinition.counter(
          "lci.net.refusals",
          "refusals",
          "Connections that this rank refused, because they did not prove in time that they are a"
              + " rank of the job.",
          SnapshotView.total("strangers_refused"))),
  /** Whether this rank is fenced. */
  FENCED(
      MeterDefinition.gauge(
          "lci.net.fenced",
          null,
          "1 if other ranks count this one as failed, so that it takes part no more.",
          SnapshotView.total("fenced")));

  @SuppressWarnings("ImmutableEnumChecker") // its readers have no state
  private final MeterDefinition definition;

  NetworkMeters(MeterDefinition definition) {
    this.definition = definition;
  }

  @Override
  public MeterDefinition definition() {
    return definition;
  }

  private static MeterReader sentAndReceived(String counter) {
    return (view, out) -> {
      for (int device = 0; device < view.snapshot().devices(); device++) {
        String index = Integer.toString(device);
        out.add(view.snapshot().counter(counter + "_sent", device), "sent", index);
        out.add(view.snapshot().counter(counter + "_received", device), "received", index);
      }
    };
  }
}
