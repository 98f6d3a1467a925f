/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import io.lci.Op;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;

/** The timers of {@link OperationMeters#LATENCY}, by kind of operation. */
final class LatencyTimers {
  /** Fixed, so that histograms of all ranks can be added. */
  static final Duration[] BUCKETS =
      LongStream.of(
              250,
              500,
              1_000,
              2_000,
              4_000,
              8_000,
              16_000,
              32_000,
              64_000,
              128_000,
              256_000,
              512_000,
              1_000_000,
              4_000_000,
              16_000_000,
              64_000_000,
              256_000_000,
              1_000_000_000)
          .mapToObj(Duration::ofNanos)
          .toArray(Duration[]::new);

  private final SharedMeters meters;
  private final Tags extraTags;

  /** By kind; replaced as a whole, and read by loops. */
  private volatile Map<Op.Kind, Timer> timers = Map.of();

  LatencyTimers(MeterRegistry registry, Tags extraTags) {
    this.meters = new SharedMeters(registry);
    this.extraTags = extraTags;
  }

  /** Idempotent until the end. */
  void register() {
    if (!timers.isEmpty()) {
      return;
    }
    Map<Op.Kind, Timer> registered = new EnumMap<>(Op.Kind.class);
    try {
      for (Op.Kind kind : Op.Kind.values()) {
        Timer.Builder timer =
            Timer.builder(OperationMeters.LATENCY.getName())
                .description(OperationMeters.LATENCY.definition().description())
                .tags(extraTags.and(LciTags.OP.asString(), SnapshotView.tag(kind)))
                .serviceLevelObjectives(BUCKETS);
        registered.put(kind, meters.hold(timer::register));
      }
    } catch (Throwable e) { // the registry, or a filter of the user's, refuses one of them
      meters.letGo();
      throw e;
    }
    timers = registered;
  }

  void remove() {
    timers = Map.of();
    meters.letGo();
  }

  void record(Op.Kind kind, long nanos) {
    Timer timer = timers.get(kind);
    if (timer != null) { // a loop may be late
      timer.record(nanos, TimeUnit.NANOSECONDS);
    }
  }
}
