/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import io.lci.LciInstrumentation;
import io.lci.LciRuntime;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Registers the {@link LciMeter}s of one runtime. {@link #instrumentation} does so by itself for
 * every runtime that has it among its options, and also times operations and observes remote
 * procedure calls, which a binder cannot do afterwards:
 *
 * <pre>{@code
 * LciOptions.builder().instrumentation(LciMetrics.instrumentation(registry)).build()
 * }</pre>
 *
 * <p>Reading costs one {@link LciRuntime#snapshot()} per scrape: meters read within {@link
 * #SNAPSHOT_AGE} share it. Meters of an inbox appear with the scrape after the one that found it,
 * and go with the inbox.
 *
 * <p>The meters refer to the runtime until it is closed, or until {@link #close()}: both remove
 * them. Only the tags of {@code lci.runtime.info} name the rank. Several runtimes at one registry
 * therefore need extra tags that tell them apart. Without them the meters of the first runtime
 * stand for all, and those of the next one when the first ends; a line in the log says so.
 *
 * @since 0.1
 */
public final class LciMetrics implements MeterBinder, AutoCloseable {

  /** For how long one snapshot serves the meters. */
  public static final Duration SNAPSHOT_AGE = Duration.ofMillis(250);

  private final LciRuntime runtime;
  private final MetricsOptions options;
  private final List<MeterBinding> bindings = new ArrayList<>();

  /**
   * With default options.
   *
   * @param runtime the runtime of the meters
   */
  public LciMetrics(LciRuntime runtime) {
    this(runtime, MetricsOptions.defaults());
  }

  /**
   * With options.
   *
   * @param runtime the runtime of the meters
   * @param options how they look
   */
  public LciMetrics(LciRuntime runtime, MetricsOptions options) {
    this.runtime = Objects.requireNonNull(runtime, "runtime");
    this.options = Objects.requireNonNull(options, "options");
  }

  /**
   * As {@link #instrumentation(MeterRegistry, MetricsOptions)} with default options.
   *
   * @param registry where the meters go
   * @return an observer for one runtime
   */
  public static LciInstrumentation instrumentation(MeterRegistry registry) {
    return instrumentation(registry, MetricsOptions.defaults());
  }

  /**
   * An observer for {@code LciOptions.Builder.instrumentation}: it binds the meters when a runtime
   * starts, times operations, observes remote procedure calls, and removes the meters when the
   * runtime is closed.
   *
   * @param registry where the meters go
   * @param options how they look
   * @return an observer for one runtime, or several that are closed together
   */
  public static LciInstrumentation instrumentation(MeterRegistry registry, MetricsOptions options) {
    return new MetricsInstrumentation(registry, options);
  }

  /** Registers the meters; at several registries, if wanted. */
  @Override
  public void bindTo(MeterRegistry registry) {
    MeterBinding binding = new MeterBinding(runtime, registry, options);
    synchronized (bindings) {
      bindings.add(binding);
    }
    try {
      binding.register();
    } catch (Throwable e) { // none stays of meters of which the registry refuses one
      synchronized (bindings) {
        bindings.remove(binding);
      }
      binding.remove();
      throw e;
    }
    // A runtime that is closed already is dealt with at once.
    runtime.onClose().subscribe(nothing -> {}, error -> close(), this::close);
  }

  /** Removes the meters from every registry. Idempotent. */
  @Override
  public void close() {
    List<MeterBinding> last;
    synchronized (bindings) {
      last = List.copyOf(bindings);
      bindings.clear();
    }
    last.forEach(MeterBinding::remove);
  }
}
