/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import io.lci.LciLoop;
import io.lci.LciRuntime;
import io.lci.LciSnapshot;
import io.lci.Op;
import io.lci.PostOutcome;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/** A snapshot with the questions of the readers of meters. */
record SnapshotView(LciRuntime runtime, LciSnapshot snapshot, MetricsOptions options) {

  static final List<PostOutcome> RETRIES =
      Arrays.stream(PostOutcome.values()).filter(PostOutcome::isRetry).toList();

  private static final String RETRY_PREFIX = "retry_";

  /** The value of tag {@code op}. */
  static String tag(Op.Kind kind) {
    return lowerCase(kind);
  }

  /** The value of tag {@code reason}. */
  static String tag(PostOutcome retry) {
    return lowerCase(retry).substring(RETRY_PREFIX.length());
  }

  static String lowerCase(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT);
  }

  /** The counts of all; 0 for a counter that this core does not have. */
  long counter(String name) {
    return snapshot.counters().getOrDefault(name, 0L);
  }

  /** Reads a counter of the whole runtime. */
  static MeterReader total(String counter) {
    return total(view -> view.counter(counter));
  }

  /** Reads one number. */
  static MeterReader total(ToDoubleFunction<SnapshotView> value) {
    return (view, out) -> out.add(value.applyAsDouble(view));
  }

  /** Reads a counter by device. */
  static MeterReader byDevice(String counter) {
    return (view, out) -> {
      for (int device = 0; device < view.snapshot.devices(); device++) {
        out.add(view.snapshot.counter(counter, device), Integer.toString(device));
      }
    };
  }

  /** Reads a counter by loop. */
  static MeterReader byLoop(String counter) {
    return (view, out) -> {
      for (LciLoop loop : view.runtime.loops()) {
        out.add(view.ofLoop(counter, loop), Integer.toString(loop.index()));
      }
    };
  }

  /** The counts of a loop, which are with the first of its devices; 0 if it is newer than these. */
  long ofLoop(String counter, LciLoop loop) {
    int device = loop.devices().get(0);
    return device < snapshot.devices() ? snapshot.counter(counter, device) : 0;
  }
}
