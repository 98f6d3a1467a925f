/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import static io.lci.metrics.LciTags.DEVICE;

/**
 * Meters of matching, packets, queues and memory.
 *
 * @since 0.1
 */
public enum ResourceMeters implements LciMeter {
  /** Sends without a receive. */
  MATCHING_UNEXPECTED(
      MeterDefinition.gauge(
          "lci.matching.unexpected",
          "messages",
          "Sends that came or were announced and that no receive has matched.",
          SnapshotView.total("unexpected_stored"))),
  /** Receives without a send. */
  MATCHING_RECEIVES(
      MeterDefinition.gauge(
          "lci.matching.receives",
          "operations",
          "Receives that no send has matched.",
          SnapshotView.total("receives_pending"))),
  /** Free packets. */
  PACKETS_FREE(
      MeterDefinition.gauge(
          "lci.packets.free",
          "packets",
          "Packets of the pool that are free.",
          SnapshotView.total(view -> view.snapshot().packetsFree()))),
  /** All packets. */
  PACKETS_CAPACITY(
      MeterDefinition.gauge(
          "lci.packets.capacity",
          "packets",
          "Packets that the pool has; it grows by chunks up to its limit.",
          SnapshotView.total(view -> view.snapshot().packetsCapacity()))),
  /** Packets on their way. */
  PACKETS_OUT(
      MeterDefinition.gauge(
          "lci.packets.out",
          "packets",
          "Packets of this rank that lie at receivers.",
          SnapshotView.total("packets_out"))),
  /** Packets from another device. */
  PACKETS_STOLEN(
      MeterDefinition.counter(
          "lci.packets.stolen",
          "packets",
          "Packets that a device took from another one of its pool.",
          SnapshotView.byDevice("packets_steal"),
          DEVICE)),
  /** No packet. */
  PACKETS_MISSED(
      MeterDefinition.counter(
          "lci.packets.missed",
          "packets",
          "Times that a device found no packet.",
          SnapshotView.byDevice("packets_miss"),
          DEVICE)),
  /** Statuses that came into queues. */
  QUEUE_PUSHED(
      MeterDefinition.counter(
          "lci.queues.pushed",
          "statuses",
          "Statuses that came into completion queues.",
          SnapshotView.total("statuses_pushed"))),
  /** Statuses that left queues. */
  QUEUE_POPPED(
      MeterDefinition.counter(
          "lci.queues.popped",
          "statuses",
          "Statuses that left completion queues: taken, or freed with their queue.",
          SnapshotView.total("statuses_popped"))),
  /** Statuses that lie in queues. */
  QUEUE_DEPTH(
      MeterDefinition.gauge(
          "lci.queues.depth",
          "statuses",
          "Statuses in completion queues.",
          SnapshotView.total(
              view ->
                  Math.max(0, view.counter("statuses_pushed") - view.counter("statuses_popped"))))),
  /** Regions. */
  MEMORY_REGIONS(
      MeterDefinition.gauge(
          "lci.memory.regions",
          "regions",
          "Regions of memory that are open to peers, allocated or registered.",
          SnapshotView.total("memory_regions"))),
  /** Bytes of allocated regions. */
  MEMORY_ALLOCATED(
      MeterDefinition.gauge(
          "lci.memory.allocated",
          "bytes",
          "Bytes of allocated regions.",
          SnapshotView.total("memory_allocated"))),
  /** Regions that have ended and are not free yet. */
  MEMORY_RETIRED(
      MeterDefinition.gauge(
          "lci.memory.retired",
          "regions",
          "Regions that have ended, kept because another process may still be inside a copy.",
          SnapshotView.total("memory_retired"))),
  /** Bytes of registered regions. */
  MEMORY_REGISTERED(
      MeterDefinition.gauge(
          "lci.memory.registered",
          "bytes",
          "Bytes of the program's own buffers that are registered as regions.",
          SnapshotView.total("memory_registered")));

  @SuppressWarnings("ImmutableEnumChecker") // its readers have no state
  private final MeterDefinition definition;

  ResourceMeters(MeterDefinition definition) {
    this.definition = definition;
  }

  @Override
  public MeterDefinition definition() {
    return definition;
  }
}
