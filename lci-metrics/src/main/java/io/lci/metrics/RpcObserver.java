/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import io.lci.metrics.RpcObservations.ClientContext;
import io.lci.metrics.RpcObservations.DefaultClientConvention;
import io.lci.metrics.RpcObservations.DefaultServerConvention;
import io.lci.metrics.RpcObservations.ServerContext;
import io.lci.rpc.RpcExchange;
import io.micrometer.observation.Observation;
import java.util.function.Consumer;
import reactor.util.context.Context;

/** Makes an observation of every remote procedure call. */
final class RpcObserver {
  private static final DefaultClientConvention CLIENT = new DefaultClientConvention();
  private static final DefaultServerConvention SERVER = new DefaultServerConvention();

  private final MetricsOptions options;

  RpcObserver(MetricsOptions options) {
    this.options = options;
  }

  RpcExchange.Handle started(RpcExchange exchange) {
    if (options.observations().isNoop()) {
      return RpcExchange.Handle.NONE;
    }
    return exchange.side() == RpcExchange.Side.CLIENT ? client(exchange) : server(exchange);
  }

  private RpcExchange.Handle client(RpcExchange exchange) {
    ClientContext context = new ClientContext(exchange);
    Observation observation =
        RpcObservations.CLIENT.observation(
            options.clientConvention(), CLIENT, () -> context, options.observations());
    Observation parent = exchange.context().getOrDefault(RpcObservations.CONTEXT_KEY, null);
    if (parent != null) {
      observation.parentObservation(parent);
    }
    return new Observed(started(observation), context::ended);
  }

  private RpcExchange.Handle server(RpcExchange exchange) {
    ServerContext context = new ServerContext(exchange);
    Observation observation =
        RpcObservations.SERVER.observation(
            options.serverConvention(), SERVER, () -> context, options.observations());
    return new Observed(started(observation), context::ended);
  }

  /** A handler may fail: those before it have begun something that has to end. */
  private static Observation started(Observation observation) {
    try {
      return observation.start();
    } catch (RuntimeException | Error e) {
      try {
        failed(observation, e);
      } catch (RuntimeException another) { // of a handler that never began
        e.addSuppressed(another);
      }
      throw e;
    }
  }

  /** It ends, whatever a handler makes of the error. */
  private static void failed(Observation observation, Throwable error) {
    try {
      observation.error(error);
    } finally {
      observation.stop();
    }
  }

  /** The error of a call as traces show it; only the subscriber sees the error itself. */
  static final class CallFailure extends RuntimeException {
    CallFailure(RpcExchange.Outcome outcome) {
      super("the call ended with " + SnapshotView.lowerCase(outcome), null, false, false);
    }
  }

  private record Observed(Observation observation, Consumer<RpcExchange.Outcome> outcomes)
      implements RpcExchange.Handle {
    @Override
    public void ended(RpcExchange.Outcome outcome) {
      outcomes.accept(outcome);
      if (outcome == RpcExchange.Outcome.SUCCESS || outcome == RpcExchange.Outcome.CANCELLED) {
        observation.stop();
      } else {
        failed(observation, new CallFailure(outcome));
      }
    }

    @Override
    public Context handlerContext(Context context) {
      return context.put(RpcObservations.CONTEXT_KEY, observation);
    }
  }
}
