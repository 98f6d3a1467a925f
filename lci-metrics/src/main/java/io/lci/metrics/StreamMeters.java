/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import static io.lci.metrics.LciTags.DIRECTION;

/**
 * Meters of remote streams and remote procedure calls.
 *
 * @since 0.1
 */
public enum StreamMeters implements LciMeter {
  /** Items. */
  ITEMS(
      MeterDefinition.counter(
          "lci.stream.items",
          "items",
          "Items of remote streams and remote procedure calls: elements, requests and replies.",
          StreamMeters::items,
          DIRECTION));

  @SuppressWarnings("ImmutableEnumChecker") // its readers have no state
  private final MeterDefinition definition;

  StreamMeters(MeterDefinition definition) {
    this.definition = definition;
  }

  @Override
  public MeterDefinition definition() {
    return definition;
  }

  private static void items(SnapshotView view, MeterReader.Series out) {
    for (String direction : new String[] {"sent", "received"}) {
      out.add(view.counter("stream_items_" + direction), direction);
    }
  }
}
