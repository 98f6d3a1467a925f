/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import static io.lci.metrics.LciTags.DEVICE;
import static io.lci.metrics.LciTags.DIRECTION;
import static io.lci.metrics.LciTags.OP;
import static io.lci.metrics.LciTags.OUTCOME;
import static io.lci.metrics.LciTags.REASON;

import io.lci.LciInstrumentation;
import io.lci.Op;
import io.lci.PostOutcome;

/**
 * Meters of what is posted.
 *
 * @since 0.1
 */
public enum OperationMeters implements LciMeter {
  /** Operations that were accepted. */
  OPERATIONS(
      MeterDefinition.counter(
          "lci.operations",
          "operations",
          "Operations that the core accepted, those of graphs included.",
          OperationMeters::operations,
          OP,
          OUTCOME,
          DEVICE)),
  /** Operations that were refused with an error. */
  ERRORS(
      MeterDefinition.counter(
          "lci.operation.errors",
          "errors",
          "Operations that the core refused with an error.",
          SnapshotView.byDevice("operations_error"),
          DEVICE)),
  /** Attempts that answered retry. */
  RETRIES(
      MeterDefinition.counter(
          "lci.retries",
          "retries",
          "Attempts of a loop that answered retry; the reason names the slow party.",
          OperationMeters::retries,
          OP,
          REASON,
          DEVICE)),
  /** How long operations take. */
  LATENCY(
      MeterDefinition.timer(
          "lci.operation.latency",
          "From writing an operation for the core to its end, without the time that it waited after a retry;"
              + " one operation in "
              + LciInstrumentation.TIMED_EVERY
              + " of each loop is timed.",
          OP)),
  /** Bytes. */
  TRANSFERRED(
      MeterDefinition.counter(
          "lci.transferred",
          "bytes",
          "Bytes of payload.",
          OperationMeters::transferred,
          DIRECTION,
          DEVICE)),
  /** Operations that wait after a retry. */
  WAITING(
      MeterDefinition.gauge(
          "lci.operations.waiting",
          "operations",
          "Operations that were refused and wait in their loop to be tried again.",
          SnapshotView.byDevice("loop_parked"),
          DEVICE)),
  /** Operations that were posted. */
  IN_FLIGHT(
      MeterDefinition.gauge(
          "lci.operations.in.flight",
          "operations",
          "Operations that were posted and have not ended.",
          SnapshotView.byDevice("loop_in_slots"),
          DEVICE)),
  /** Operations that a close gave up. */
  GIVEN_UP(
      MeterDefinition.counter(
          "lci.operations.given.up",
          "operations",
          "Operations that had not ended when the runtime closed, and were given up: peers saw it fail.",
          SnapshotView.byDevice("loop_given_up"),
          DEVICE));

  @SuppressWarnings("ImmutableEnumChecker") // its readers have no state
  private final MeterDefinition definition;

  OperationMeters(MeterDefinition definition) {
    this.definition = definition;
  }

  @Override
  public MeterDefinition definition() {
    return definition;
  }

  private static void operations(SnapshotView view, MeterReader.Series out) {
    for (Op.Kind kind : Op.Kind.values()) {
      String ofCore = kind == Op.Kind.RECEIVE ? "recv" : SnapshotView.tag(kind);
      for (String outcome : new String[] {"done", "posted"}) {
        String counter = "operations_" + ofCore + '_' + outcome;
        if (!view.snapshot().counters().containsKey(counter)) {
          continue; // a barrier is never done at once
        }
        for (int device = 0; device < view.snapshot().devices(); device++) {
          out.add(
              view.snapshot().counter(counter, device),
              SnapshotView.tag(kind),
              outcome,
              Integer.toString(device));
        }
      }
    }
  }

  private static void retries(SnapshotView view, MeterReader.Series out) {
    for (Op.Kind kind : Op.Kind.values()) {
      for (PostOutcome retry : SnapshotView.RETRIES) {
        String counter = "loop_" + SnapshotView.lowerCase(retry) + '_' + SnapshotView.tag(kind);
        for (int device = 0; device < view.snapshot().devices(); device++) {
          out.add(
              view.snapshot().counter(counter, device),
              SnapshotView.tag(kind),
              SnapshotView.tag(retry),
              Integer.toString(device));
        }
      }
    }
  }

  private static void transferred(SnapshotView view, MeterReader.Series out) {
    for (int device = 0; device < view.snapshot().devices(); device++) {
      String index = Integer.toString(device);
      out.add(view.snapshot().counter("sent_bytes", device), "sent", index);
      out.add(view.snapshot().counter("arrival_bytes", device), "received", index);
      long remote =
          view.snapshot().counter("rma_copied", device)
              + view.snapshot().counter("rma_streamed", device);
      out.add(remote, "remote", index);
    }
  }
}
