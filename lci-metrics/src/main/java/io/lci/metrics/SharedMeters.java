/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.function.Function;

/**
 * Meters that are told of things as they happen. At one registry, meters of the same tags are the
 * same meters, whichever runtime registers them; the last one to let them go removes them. Any
 * thread.
 */
final class SharedMeters {
  /** The number of users of each meter of a registry. Guarded by itself. */
  private static final Map<MeterRegistry, Map<Meter.Id, Integer>> HOLDERS = new WeakHashMap<>();

  private final MeterRegistry registry;
  private final List<Meter> held = new ArrayList<>();

  SharedMeters(MeterRegistry registry) {
    this.registry = registry;
  }

  <M extends Meter> M hold(Function<MeterRegistry, M> register) {
    synchronized (HOLDERS) {
      M meter = register.apply(registry);
      HOLDERS.computeIfAbsent(registry, r -> new HashMap<>()).merge(meter.getId(), 1, Integer::sum);
      held.add(meter);
      return meter;
    }
  }

  void letGo() {
    synchronized (HOLDERS) {
      Map<Meter.Id, Integer> holders = HOLDERS.getOrDefault(registry, Map.of());
      for (Meter meter : held) {
        if (holders.computeIfPresent(meter.getId(), (id, n) -> n == 1 ? null : n - 1) == null) {
          registry.remove(meter);
        }
      }
      held.clear();
    }
  }
}
