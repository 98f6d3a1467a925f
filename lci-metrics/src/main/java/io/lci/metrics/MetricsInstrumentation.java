/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import io.lci.LciInstrumentation;
import io.lci.LciRuntime;
import io.lci.Op;
import io.lci.collective.Algorithm;
import io.lci.rpc.RpcExchange;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.IdentityHashMap;

/** Binds the meters of runtimes as they start, and takes the figures that no snapshot holds. */
final class MetricsInstrumentation implements LciInstrumentation {

  private final MeterRegistry registry;
  private final MetricsOptions options;
  private final LatencyTimers timers;
  private final CollectiveTimers collectives;
  private final RpcObserver calls;
  private final IdentityHashMap<LciRuntime, LciMetrics> bound = new IdentityHashMap<>();

  MetricsInstrumentation(MeterRegistry registry, MetricsOptions options) {
    this.registry = registry;
    this.options = options;
    this.timers = new LatencyTimers(registry, options.extraTags());
    this.collectives = new CollectiveTimers(registry, options.extraTags());
    this.calls = new RpcObserver(options);
  }

  @Override
  public synchronized void runtimeStarted(LciRuntime runtime) {
    LciMetrics metrics = new LciMetrics(runtime, options);
    bound.put(runtime, metrics);
    metrics.bindTo(registry);
    timers.register();
    collectives.begin();
  }

  @Override
  public synchronized void runtimeClosed(LciRuntime runtime) {
    LciMetrics metrics = bound.remove(runtime);
    if (metrics != null) {
      metrics.close();
    }
    if (bound.isEmpty()) {
      timers.remove();
      collectives.end();
    }
  }

  @Override
  public void operationTimed(Op.Kind kind, int device, long nanos) {
    timers.record(kind, nanos);
  }

  @Override
  public void collectiveTimed(
      String call, Algorithm algorithm, int device, long bytes, long nanos) {
    collectives.record(call, algorithm, bytes, nanos);
  }

  @Override
  public RpcExchange.Handle rpcStarted(RpcExchange exchange) {
    return calls.started(exchange);
  }
}
