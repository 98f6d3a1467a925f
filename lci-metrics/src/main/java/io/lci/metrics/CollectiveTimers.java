/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import io.lci.collective.Algorithm;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * {@link CollectiveMeters#TIME} and {@link CollectiveMeters#BYTES}, registered for each call and
 * algorithm when it has ended first: few programs use more than a few of them.
 */
final class CollectiveTimers {
  private record Key(String call, Algorithm algorithm) {}

  private record Meters(Timer time, Counter bytes) {}

  private final SharedMeters meters;
  private final Tags extraTags;

  /** Replaced as a whole, and read by loops; null: the end. */
  private volatile @Nullable Map<Key, Meters> known = Map.of();

  /** Those that the registry, or a filter of the user's, does not take. Guarded by this. */
  private final Set<Key> refused = new HashSet<>();

  CollectiveTimers(MeterRegistry registry, Tags extraTags) {
    this.meters = new SharedMeters(registry);
    this.extraTags = extraTags;
  }

  /** After an end as well. */
  synchronized void begin() {
    if (known == null) {
      known = Map.of();
    }
  }

  synchronized void end() {
    known = null;
    refused.clear();
    meters.letGo();
  }

  void record(String call, Algorithm algorithm, long bytes, long nanos) {
    Map<Key, Meters> present = known;
    if (present == null) { // a loop may be late
      return;
    }
    Key key = new Key(call, algorithm);
    Meters found = present.get(key);
    if (found == null) {
      found = register(key);
    }
    if (found != null) {
      found.time.record(nanos, TimeUnit.NANOSECONDS);
      found.bytes.increment(bytes);
    }
  }

  private synchronized @Nullable Meters register(Key key) {
    Map<Key, Meters> present = known;
    if (present == null || refused.contains(key)) {
      return null;
    }
    Meters other = present.get(key);
    if (other != null) {
      return other;
    }
    refused.add(key); // until it is there
    Tags tags =
        extraTags.and(
            LciTags.CALL.asString(),
            key.call,
            LciTags.ALGORITHM.asString(),
            SnapshotView.lowerCase(key.algorithm));
    Meters made =
        new Meters(
            meters.hold(
                Timer.builder(CollectiveMeters.TIME.getName())
                        .description(CollectiveMeters.TIME.definition().description())
                        .tags(tags)
                        .serviceLevelObjectives(LatencyTimers.BUCKETS)
                    ::register),
            meters.hold(
                Counter.builder(CollectiveMeters.BYTES.getName())
                        .description(CollectiveMeters.BYTES.definition().description())
                        .baseUnit(CollectiveMeters.BYTES.getBaseUnit())
                        .tags(tags)
                    ::register));
    Map<Key, Meters> more = new HashMap<>(present);
    more.put(key, made);
    known = Map.copyOf(more);
    refused.remove(key);
    return made;
  }
}
