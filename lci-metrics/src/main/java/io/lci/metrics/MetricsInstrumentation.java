/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import io.lci.LciInstrumentation;
import io.lci.LciRuntime;
import io.lci.PostOutcome;
import io.lci.metrics.LciMeters.StallKeys;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.time.Duration;
import java.util.IdentityHashMap;
import java.util.Locale;

/** Binds the meters of runtimes as they start, and counts what no snapshot holds. */
final class MetricsInstrumentation implements LciInstrumentation {

  private static final String RETRY_PREFIX = "retry_";

  private final MeterRegistry registry;
  private final Tags extraTags;
  private final IdentityHashMap<LciRuntime, LciMetrics> bound = new IdentityHashMap<>();

  MetricsInstrumentation(MeterRegistry registry, Tags extraTags) {
    this.registry = registry;
    this.extraTags = extraTags;
  }

  @Override
  public synchronized void runtimeStarted(LciRuntime runtime) {
    LciMetrics metrics = new LciMetrics(runtime, extraTags);
    bound.put(runtime, metrics);
    metrics.bindTo(registry);
  }

  @Override
  public synchronized void runtimeClosed(LciRuntime runtime) {
    LciMetrics metrics = bound.remove(runtime);
    if (metrics != null) {
      metrics.close();
    }
  }

  /** The counts stay when the runtime closes: they tell what happened. */
  @Override
  public void stalled(int rank, int port, PostOutcome reason, int waiting, Duration stalled) {
    String name = reason.name().toLowerCase(Locale.ROOT);
    Counter.builder(LciMeters.STALLS.getName())
        .baseUnit(LciMeters.STALLS.getBaseUnit())
        .tags(
            Tags.of(
                    StallKeys.REASON.asString(),
                    name.startsWith(RETRY_PREFIX) ? name.substring(RETRY_PREFIX.length()) : name)
                .and(extraTags))
        .register(registry)
        .increment();
  }
}
