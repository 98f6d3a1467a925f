/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import io.lci.LciRuntime;
import io.lci.LciSnapshot;
import io.micrometer.core.instrument.Clock;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The meters of one runtime at one registry. A meter that is read takes a snapshot if the last one
 * is old; a fresh snapshot is walked once, meter by meter, and brings every series up to date.
 *
 * <p>Registries refer weakly to the observed object; here the meters' functions refer to this
 * object, so that it lives as long as they do.
 */
final class MeterBinding {

  /** The values that tell the series apart. */
  private record Key(LciMeter meter, List<String> tagValues) {}

  /** One series. */
  private static final class Series {
    private @Nullable Meter meter;
    private volatile double value;
    private long seen;
  }

  private static final Logger LOG = LoggerFactory.getLogger(LciMetrics.class);

  /** Those of each registry as they came. Also guards registering, and {@link #OWNERS}. */
  private static final Map<MeterRegistry, List<MeterBinding>> BINDINGS = new IdentityHashMap<>();

  /** The owners of the meters. By identity: a registry's filters may change names and tags. */
  private static final Map<Meter, MeterBinding> OWNERS = new IdentityHashMap<>();

  private static final List<LciMeter> READ =
      LciMeter.all().stream().filter(meter -> meter.definition().isRead()).toList();

  private final LciRuntime runtime;
  private final MeterRegistry registry;
  private final MetricsOptions options;
  private final Clock clock;
  private final Map<Key, Series> series = new HashMap<>();
  private boolean removed;
  private boolean warned;
  private boolean taken;
  private long takenAt;
  private long walks;

  MeterBinding(LciRuntime runtime, MeterRegistry registry, MetricsOptions options) {
    this.runtime = runtime;
    this.registry = registry;
    this.options = options;
    this.clock = registry.config().clock();
  }

  /** Finds the first series; more may come, and some go, with every snapshot. */
  void register() {
    synchronized (BINDINGS) {
      BINDINGS.computeIfAbsent(registry, r -> new ArrayList<>()).add(this);
    }
    refresh();
  }

  /** The next one of this registry that has such meters registers its own. Idempotent. */
  void remove() {
    removeMine();
    List<MeterBinding> others;
    synchronized (BINDINGS) {
      List<MeterBinding> all = BINDINGS.getOrDefault(registry, new ArrayList<>());
      all.remove(this);
      if (all.isEmpty()) {
        BINDINGS.remove(registry);
      }
      others = List.copyOf(all);
    }
    others.forEach(MeterBinding::registerMissing);
  }

  private synchronized void removeMine() {
    removed = true;
    series.values().forEach(this::unregister);
    series.clear();
  }

  private synchronized void registerMissing() {
    series.forEach(
        (key, one) -> {
          if (one.meter == null) {
            one.meter = register(key, one);
          }
        });
  }

  private synchronized void refresh() {
    long now = clock.monotonicTime();
    if (removed || (taken && now - takenAt < LciMetrics.SNAPSHOT_AGE.toNanos())) {
      return;
    }
    LciSnapshot snapshot = runtime.snapshot();
    taken = true;
    takenAt = now;
    walk(new SnapshotView(runtime, snapshot, options));
  }

  private void walk(SnapshotView view) {
    walks++;
    for (LciMeter meter : READ) {
      meter
          .definition()
          .read(view, (value, tagValues) -> take(new Key(meter, List.of(tagValues)), value));
    }
    List<Key> absent = new ArrayList<>();
    series.forEach(
        (key, one) -> {
          if (one.seen != walks) {
            absent.add(key);
          }
        });
    absent.forEach(this::miss);
  }

  private void take(Key key, double value) {
    Series one = series.get(key);
    if (one == null) {
      one = new Series();
      series.put(key, one);
      one.meter = register(key, one);
    }
    // An addition by one thread and a removal by another may be seen in the wrong order.
    one.value = key.meter.getType() == Meter.Type.COUNTER ? Math.max(one.value, value) : value;
    one.seen = walks;
  }

  private void miss(Key key) {
    if (key.meter.definition().isRemovedWhenAbsent()) {
      unregister(Objects.requireNonNull(series.remove(key)));
    } else if (key.meter.getType() == Meter.Type.GAUGE) {
      Objects.requireNonNull(series.get(key)).value = 0;
    }
  }

  /** Null if the meter of another is there: it stands for both, and is not this one's to end. */
  private @Nullable Meter register(Key key, Series one) {
    MeterDefinition definition = key.meter.definition();
    Tags tags = options.extraTags();
    for (int i = 0; i < definition.tags().size(); i++) {
      tags = tags.and(definition.tags().get(i).asString(), key.tagValues.get(i));
    }
    synchronized (BINDINGS) {
      List<Tag> all = tags.stream().toList();
      if (registry.find(definition.name()).meters().stream()
          .noneMatch(other -> other.getId().getTags().equals(all))) {
        Meter meter = register(definition, tags, one);
        MeterBinding owner = OWNERS.putIfAbsent(meter, this);
        if (owner == null) {
          return meter;
        }
        if (owner == this) { // a filter makes one of several series
          return null;
        }
      }
    }
    if (!warned) {
      warned = true;
      LOG.warn(
          "rank {}: meters of another runtime are at this registry, and stand for both until it"
              + " ends; MetricsOptions.withExtraTags tells them apart",
          runtime.rank());
    }
    return null;
  }

  private Meter register(MeterDefinition definition, Tags tags, Series one) {
    if (definition.type() == Meter.Type.COUNTER) {
      return FunctionCounter.builder(definition.name(), this, self -> read(one))
          .baseUnit(definition.baseUnit())
          .description(definition.description())
          .tags(tags)
          .register(registry);
    }
    return Gauge.builder(definition.name(), () -> read(one))
        .baseUnit(definition.baseUnit())
        .description(definition.description())
        .tags(tags)
        .register(registry);
  }

  private double read(Series one) {
    refresh();
    return one.value;
  }

  private void unregister(Series one) {
    if (one.meter != null) {
      synchronized (BINDINGS) {
        registry.remove(one.meter);
        OWNERS.remove(one.meter);
      }
    }
  }
}
