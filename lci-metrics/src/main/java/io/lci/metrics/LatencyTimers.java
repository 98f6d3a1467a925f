/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import io.lci.Op;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;

/**
 * The timers of {@link OperationMeters#LATENCY}, by kind of operation. At one registry, timers of
 * the same tags are the same timers, whichever runtime registers them; the last runtime to end
 * removes them.
 */
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

  /** The number of users of each timer of a registry. Guarded by itself. */
  private static final Map<MeterRegistry, Map<Meter.Id, Integer>> HOLDERS = new WeakHashMap<>();

  private final MeterRegistry registry;
  private final Tags extraTags;

  /** By kind; replaced as a whole, and read by loops. */
  private volatile Map<Op.Kind, Timer> timers = Map.of();

  LatencyTimers(MeterRegistry registry, Tags extraTags) {
    this.registry = registry;
    this.extraTags = extraTags;
  }

  /** Idempotent until the end. */
  void register() {
    if (!timers.isEmpty()) {
      return;
    }
    Map<Op.Kind, Timer> registered = new EnumMap<>(Op.Kind.class);
    synchronized (HOLDERS) {
      Map<Meter.Id, Integer> holders = HOLDERS.computeIfAbsent(registry, r -> new HashMap<>());
      try {
        for (Op.Kind kind : Op.Kind.values()) {
          Timer timer =
              Timer.builder(OperationMeters.LATENCY.getName())
                  .description(OperationMeters.LATENCY.definition().description())
                  .tags(extraTags.and(LciTags.OP.asString(), SnapshotView.tag(kind)))
                  .serviceLevelObjectives(BUCKETS)
                  .register(registry);
          holders.merge(timer.getId(), 1, Integer::sum);
          registered.put(kind, timer);
        }
      } catch (Throwable e) { // the registry, or a filter of the user's, refuses one of them
        remove(registered);
        throw e;
      }
    }
    timers = registered;
  }

  void remove() {
    Map<Op.Kind, Timer> registered = timers;
    timers = Map.of();
    remove(registered);
  }

  private void remove(Map<Op.Kind, Timer> registered) {
    synchronized (HOLDERS) {
      Map<Meter.Id, Integer> holders = HOLDERS.getOrDefault(registry, Map.of());
      for (Timer timer : registered.values()) {
        if (holders.computeIfPresent(timer.getId(), (id, n) -> n == 1 ? null : n - 1) == null) {
          registry.remove(timer);
        }
      }
    }
  }

  void record(Op.Kind kind, long nanos) {
    Timer timer = timers.get(kind);
    if (timer != null) { // a loop may be late
      timer.record(nanos, TimeUnit.NANOSECONDS);
    }
  }
}
