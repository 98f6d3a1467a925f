/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import io.lci.rpc.RpcExchange;
import io.micrometer.common.KeyValues;
import io.micrometer.common.docs.KeyName;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;
import io.micrometer.observation.docs.ObservationDocumentation;
import io.micrometer.observation.transport.Kind;
import io.micrometer.observation.transport.ReceiverContext;
import io.micrometer.observation.transport.SenderContext;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Observations of remote procedure calls, one on each side. A tracing handler writes {@code
 * traceparent} into the request (W3C Trace Context). It travels, alone of all headers, if it has at
 * most {@value RpcExchange#MAX_TRACEPARENT} bytes, and a handler on the other side finds it. The
 * parent of the client's observation is the observation in the subscriber's Reactor context.
 *
 * @since 0.1
 */
public enum RpcObservations implements ObservationDocumentation {
  /** A call, as the asking side sees it: from the subscription to the last signal. */
  CLIENT("lci.rpc.client", DefaultClientConvention.class),
  /** A call, as the serving side sees it: from the request to the last signal. */
  SERVER("lci.rpc.server", DefaultServerConvention.class);

  /** Where an observation and Reactor's contexts meet: Micrometer's own key. */
  static final String CONTEXT_KEY = "micrometer.observation";

  /** The one header that travels. */
  private static final String TRACEPARENT = "traceparent";

  private static final Logger LOG = LoggerFactory.getLogger(RpcObservations.class);
  private static final AtomicBoolean TOLD = new AtomicBoolean();

  private final String name;
  private final Class<? extends ObservationConvention<? extends Observation.Context>> convention;

  RpcObservations(
      String name,
      Class<? extends ObservationConvention<? extends Observation.Context>> convention) {
    this.name = name;
    this.convention = convention;
  }

  @Override
  public String getName() {
    return name;
  }

  @Override
  public Class<? extends ObservationConvention<? extends Observation.Context>>
      getDefaultConvention() {
    return convention;
  }

  @Override
  public KeyName[] getLowCardinalityKeyNames() {
    return LowKeys.values();
  }

  @Override
  public KeyName[] getHighCardinalityKeyNames() {
    return HighKeys.values();
  }

  /** Keys with few values: they become tags of timers. */
  public enum LowKeys implements KeyName {
    /** The function's name. */
    FUNCTION("function", "the function's name"),
    /** The interaction. */
    INTERACTION(
        "interaction", "fire_and_forget, request_response, request_stream or request_channel"),
    /** How it ended. */
    OUTCOME("outcome", "success, error, cancelled, deadline or lost; none while it runs");

    private final String key;
    private final String description;

    LowKeys(String key, String description) {
      this.key = key;
      this.description = description;
    }

    @Override
    public String asString() {
      return key;
    }

    /** {@return a description of its values, in one line} */
    public String description() {
      return description;
    }
  }

  /** Keys with many values: only traces have them. */
  public enum HighKeys implements KeyName {
    /** The other side. */
    PEER;

    @Override
    public String asString() {
      return "peer";
    }

    /** {@return a description of its values, in one line} */
    public String description() {
      return "the other side's rank";
    }
  }

  /** The observation of the asking side, for handlers. */
  public static final class ClientContext extends SenderContext<RpcExchange> {
    private final RpcExchange exchange;
    private volatile RpcExchange.@Nullable Outcome outcome;

    ClientContext(RpcExchange exchange) {
      super(RpcObservations::write, Kind.CLIENT);
      this.exchange = exchange;
      setCarrier(exchange);
    }

    /** {@return the call} */
    public RpcExchange exchange() {
      return exchange;
    }

    /** {@return how it ended; null while it runs} */
    public RpcExchange.@Nullable Outcome outcome() {
      return outcome;
    }

    void ended(RpcExchange.Outcome how) {
      outcome = how;
    }
  }

  /** The observation of the serving side, for handlers. */
  public static final class ServerContext extends ReceiverContext<RpcExchange> {
    private final RpcExchange exchange;
    private volatile RpcExchange.@Nullable Outcome outcome;

    ServerContext(RpcExchange exchange) {
      super(RpcObservations::read, Kind.SERVER);
      this.exchange = exchange;
      setCarrier(exchange);
    }

    /** {@return the call} */
    public RpcExchange exchange() {
      return exchange;
    }

    /** {@return how it ended; null while it runs} */
    public RpcExchange.@Nullable Outcome outcome() {
      return outcome;
    }

    void ended(RpcExchange.Outcome how) {
      outcome = how;
    }
  }

  /** Names and key values of the asking side's observations. */
  public interface ClientConvention extends ObservationConvention<ClientContext> {
    @Override
    default boolean supportsContext(Observation.Context context) {
      return context instanceof ClientContext;
    }
  }

  /** Names and key values of the serving side's observations. */
  public interface ServerConvention extends ObservationConvention<ServerContext> {
    @Override
    default boolean supportsContext(Observation.Context context) {
      return context instanceof ServerContext;
    }
  }

  /** The default of the asking side. */
  public static class DefaultClientConvention implements ClientConvention {
    /** As documented by {@link RpcObservations}. */
    public DefaultClientConvention() {}

    @Override
    public String getName() {
      return CLIENT.getName();
    }

    @Override
    public String getContextualName(ClientContext context) {
      return "call " + context.exchange().function();
    }

    @Override
    public KeyValues getLowCardinalityKeyValues(ClientContext context) {
      return low(context.exchange(), context.outcome());
    }

    @Override
    public KeyValues getHighCardinalityKeyValues(ClientContext context) {
      return high(context.exchange());
    }
  }

  /** The default of the serving side. */
  public static class DefaultServerConvention implements ServerConvention {
    /** As documented by {@link RpcObservations}. */
    public DefaultServerConvention() {}

    @Override
    public String getName() {
      return SERVER.getName();
    }

    @Override
    public String getContextualName(ServerContext context) {
      return "serve " + context.exchange().function();
    }

    @Override
    public KeyValues getLowCardinalityKeyValues(ServerContext context) {
      return low(context.exchange(), context.outcome());
    }

    @Override
    public KeyValues getHighCardinalityKeyValues(ServerContext context) {
      return high(context.exchange());
    }
  }

  private static void write(@Nullable RpcExchange exchange, String key, String value) {
    if (exchange == null || !key.equalsIgnoreCase(TRACEPARENT)) {
      return;
    }
    try {
      exchange.traceparent(value);
    } catch (IllegalArgumentException e) { // a tracer that heard of it would not end its span
      if (TOLD.compareAndSet(false, true)) {
        LOG.warn("a trace ends at rank {}; this is said once", exchange.rank(), e);
      }
    }
  }

  private static @Nullable String read(RpcExchange exchange, String key) {
    return key.equalsIgnoreCase(TRACEPARENT) ? exchange.traceparent() : null;
  }

  private static KeyValues low(RpcExchange exchange, RpcExchange.@Nullable Outcome outcome) {
    return KeyValues.of(
        LowKeys.FUNCTION.withValue(exchange.function()),
        LowKeys.INTERACTION.withValue(SnapshotView.lowerCase(exchange.interaction())),
        LowKeys.OUTCOME.withValue(outcome == null ? "none" : SnapshotView.lowerCase(outcome)));
  }

  private static KeyValues high(RpcExchange exchange) {
    return KeyValues.of(HighKeys.PEER.withValue(Integer.toString(exchange.rank())));
  }
}
