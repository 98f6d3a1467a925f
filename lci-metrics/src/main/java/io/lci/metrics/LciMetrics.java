/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import io.lci.LciInstrumentation;
import io.lci.LciRuntime;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Registers the {@link LciMeters} of one runtime.
 *
 * <p>Reading costs one {@link LciRuntime#snapshot()} per scrape: meters read within {@link
 * #SNAPSHOT_AGE} share it. Inboxes that were opened since appear with the scrape after the one that
 * found them; those of closed inboxes go.
 *
 * <p>The meters hold the runtime until {@link #close()}, which removes them; they keep their last
 * values after the runtime is closed. No tag but those of {@code lci.runtime.info} names the rank:
 * several runtimes on one registry need extra tags that tell them apart, or the first one's meters
 * stand for all.
 *
 * <pre>{@code
 * try (LciRuntime lci = LciRuntime.create(); LciMetrics metrics = new LciMetrics(lci)) {
 *   metrics.bindTo(registry);
 *   ...
 * }
 * }</pre>
 */
public final class LciMetrics implements MeterBinder, AutoCloseable {

  /** For how long one snapshot serves the meters. */
  public static final Duration SNAPSHOT_AGE = Duration.ofMillis(250);

  private final LciRuntime runtime;
  private final Tags extraTags;
  private final List<MeterBinding> bindings = new ArrayList<>();

  /**
   * Without extra tags.
   *
   * @param runtime whose meters
   */
  public LciMetrics(LciRuntime runtime) {
    this(runtime, Tags.empty());
  }

  /**
   * With tags that every meter gets.
   *
   * @param runtime whose meters
   * @param extraTags few values, known beforehand
   */
  public LciMetrics(LciRuntime runtime, Iterable<Tag> extraTags) {
    this.runtime = Objects.requireNonNull(runtime, "runtime");
    this.extraTags = Tags.of(extraTags);
  }

  /**
   * An observer for {@code LciOptions.Builder.instrumentation}: it binds the meters when a runtime
   * starts, counts stalls, and removes the meters when the runtime is closed.
   *
   * @param registry where the meters go
   * @param extraTags as in {@link #LciMetrics(LciRuntime, Iterable)}
   * @return an observer for one runtime or several
   */
  public static LciInstrumentation instrumentation(
      MeterRegistry registry, Iterable<Tag> extraTags) {
    return new MetricsInstrumentation(registry, Tags.of(extraTags));
  }

  /** Registers the meters; at several registries, if wanted. */
  @Override
  public synchronized void bindTo(MeterRegistry registry) {
    MeterBinding binding = new MeterBinding(runtime, registry, extraTags);
    bindings.add(binding);
    binding.register();
  }

  /** Removes the meters from every registry. Idempotent. */
  @Override
  public synchronized void close() {
    bindings.forEach(MeterBinding::remove);
    bindings.clear();
  }
}
