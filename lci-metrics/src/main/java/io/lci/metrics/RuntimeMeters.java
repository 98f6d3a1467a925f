/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import static io.lci.metrics.LciTags.COUNTER;
import static io.lci.metrics.LciTags.DEVICE;
import static io.lci.metrics.LciTags.RANK;
import static io.lci.metrics.LciTags.SIZE;
import static io.lci.metrics.LciTags.STATE;
import static io.lci.metrics.LciTags.TRANSPORT;
import static io.lci.metrics.LciTags.VERSION;

import io.lci.LciRuntime;
import io.lci.LciSnapshot;
import java.util.List;
import java.util.Set;

/**
 * Meters of the runtime as a whole.
 *
 * @since 0.1
 */
public enum RuntimeMeters implements LciMeter {
  /** The other ranks. */
  PEERS(
      MeterDefinition.gauge(
          "lci.peers", "peers", "The other ranks of the job.", RuntimeMeters::peers, STATE)),
  /** Every counter that has no meter of its own. */
  CORE(
      MeterDefinition.counter(
          "lci.core",
          null,
          "Counters of the core and of the loops that no other meter shows, by their names there.",
          RuntimeMeters::core,
          COUNTER,
          DEVICE)),
  /** The running library and job. */
  INFO(
      MeterDefinition.gauge(
          "lci.runtime.info",
          null,
          "Always 1: the tags are the information.",
          RuntimeMeters::info,
          RANK,
          SIZE,
          VERSION,
          TRANSPORT));

  /** Values that may fall again: each is a gauge, or no meter at all. */
  private static final Set<String> LEVELS =
      Set.of(
          "packets_free",
          "packets_capacity",
          "packets_out",
          "packets_held",
          "backlog_depth",
          "unexpected_stored",
          "credits_leased",
          "receives_pending",
          "sends_pending",
          "memory_regions",
          "memory_allocated",
          "memory_retired",
          "memory_registered",
          "links_open",
          "fenced",
          "loop_parked",
          "loop_in_slots",
          "loop_leased");

  /** Counters that other meters show: a figure has one name. */
  private static final Set<String> SHOWN =
      Set.of(
          "sent_bytes",
          "arrival_bytes",
          "rma_copied",
          "rma_streamed",
          "backlog_push",
          "discarded",
          "signals_dropped",
          "packets_steal",
          "packets_miss",
          "statuses_pushed",
          "collective_stalls",
          "statuses_popped",
          "peers_left",
          "peers_failed",
          "links_resumed",
          "strangers_refused",
          "stream_items_sent",
          "stream_items_received",
          "loop_late_data",
          "loop_given_up",
          "loop_enters",
          "loop_stalls",
          "loop_helped",
          "loop_parks",
          "loop_uncaught");

  /**
   * The same of counters with a part for each kind or reason. The core's retries are those of
   * {@code lci.retries} by reason alone.
   */
  private static final List<String> SHOWN_IN_PARTS =
      List.of("operations_", "retries_", "loop_retry_", "loop_nanos_", "net_");

  private static final String DEFAULT_TRANSPORT = "shm";

  /** In place of a device: the counts that belong to none. */
  private static final String NO_DEVICE = "none";

  @SuppressWarnings("ImmutableEnumChecker") // its readers have no state
  private final MeterDefinition definition;

  RuntimeMeters(MeterDefinition definition) {
    this.definition = definition;
  }

  @Override
  public MeterDefinition definition() {
    return definition;
  }

  private static void peers(SnapshotView view, MeterReader.Series out) {
    long left = view.counter("peers_left");
    long failed = view.counter("peers_failed");
    out.add(Math.max(0, view.runtime().size() - 1 - left - failed), "alive");
    out.add(left, "left");
    out.add(failed, "failed");
  }

  private static void core(SnapshotView view, MeterReader.Series out) {
    LciSnapshot snapshot = view.snapshot();
    for (String counter : snapshot.counters().keySet()) {
      if (isOnlyHere(counter)) {
        for (int device = 0; device < snapshot.devices(); device++) {
          out.add(snapshot.counter(counter, device), counter, Integer.toString(device));
        }
        out.add(snapshot.counterWithoutDevice(counter), counter, NO_DEVICE);
      }
    }
  }

  private static boolean isOnlyHere(String counter) {
    return !LEVELS.contains(counter)
        && !SHOWN.contains(counter)
        && SHOWN_IN_PARTS.stream().noneMatch(counter::startsWith);
  }

  private static void info(SnapshotView view, MeterReader.Series out) {
    LciRuntime runtime = view.runtime();
    String version = LciRuntime.class.getPackage().getImplementationVersion();
    out.add(
        1,
        Integer.toString(runtime.rank()),
        Integer.toString(runtime.size()),
        version == null ? "development" : version,
        runtime.options().attributes().getOrDefault("transport", DEFAULT_TRANSPORT));
  }
}
