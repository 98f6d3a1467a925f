/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.LciInstrumentation;
import io.lci.metrics.RpcObservations.ClientContext;
import io.lci.metrics.RpcObservations.DefaultClientConvention;
import io.lci.rpc.Interaction;
import io.lci.rpc.RpcExchange;
import io.micrometer.core.instrument.observation.DefaultMeterObservationHandler;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.tck.TestObservationRegistry;
import io.micrometer.observation.transport.ReceiverContext;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.util.context.Context;
import reactor.util.context.ContextView;

/** Remote procedure calls as observations; the calls themselves are the test's. */
class RpcObservationsTest {
  private static final String HEADER = "traceparent";

  /** What travels between the two sides of the test's calls. */
  private @Nullable String travelling;

  private final class Call implements RpcExchange {
    private final Side side;
    private final ContextView context;

    Call(Side side, ContextView context) {
      this.side = side;
      this.context = context;
    }

    @Override
    public Side side() {
      return side;
    }

    @Override
    public Interaction interaction() {
      return Interaction.REQUEST_STREAM;
    }

    @Override
    public String function() {
      return "sum";
    }

    @Override
    public int rank() {
      return 3;
    }

    @Override
    public ContextView context() {
      return context;
    }

    @Override
    public @Nullable String traceparent() {
      return travelling;
    }

    @Override
    public void traceparent(String value) {
      if (value.length() > MAX_TRACEPARENT) {
        throw new IllegalArgumentException("at most " + MAX_TRACEPARENT + " bytes");
      }
      travelling = value;
    }
  }

  private final TestObservationRegistry observations = TestObservationRegistry.create();
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();

  private LciInstrumentation instrumentation() {
    return LciMetrics.instrumentation(
        meters, MetricsOptions.defaults().withObservations(observations));
  }

  private Call call(RpcExchange.Side side, ContextView context) {
    return new Call(side, context);
  }

  private Call client() {
    return call(RpcExchange.Side.CLIENT, Context.empty());
  }

  private Call server() {
    return call(RpcExchange.Side.SERVER, Context.empty());
  }

  @Test
  void aCallIsAnObservationOnEitherSide() {
    RpcExchange.Handle asking = instrumentation().rpcStarted(client());
    RpcExchange.Handle serving = instrumentation().rpcStarted(server());
    serving.ended(RpcExchange.Outcome.SUCCESS);
    asking.ended(RpcExchange.Outcome.CANCELLED);
    assertThat(observations)
        .hasNumberOfObservationsEqualTo(2)
        .hasObservationWithNameEqualTo("lci.rpc.client")
        .that()
        .hasBeenStarted()
        .hasBeenStopped()
        .doesNotHaveError()
        .hasContextualNameEqualTo("call sum")
        .hasLowCardinalityKeyValue("function", "sum")
        .hasLowCardinalityKeyValue("interaction", "request_stream")
        .hasLowCardinalityKeyValue("outcome", "cancelled")
        .hasHighCardinalityKeyValue("peer", "3");
    assertThat(observations)
        .hasObservationWithNameEqualTo("lci.rpc.server")
        .that()
        .hasBeenStopped()
        .hasContextualNameEqualTo("serve sum")
        .hasLowCardinalityKeyValue("outcome", "success")
        .hasHighCardinalityKeyValue("peer", "3");
  }

  @Test
  void aCallThatRunsHasNotStopped() {
    RpcExchange.Handle asking = instrumentation().rpcStarted(client());
    assertThat(observations)
        .hasSingleObservationThat()
        .hasBeenStarted()
        .isNotStopped()
        .hasLowCardinalityKeyValue("outcome", "none");
    asking.ended(RpcExchange.Outcome.SUCCESS);
  }

  @Test
  void aFailureIsTheObservationsError() {
    instrumentation().rpcStarted(client()).ended(RpcExchange.Outcome.LOST);
    assertThat(observations)
        .hasSingleObservationThat()
        .hasBeenStopped()
        .hasError()
        .hasLowCardinalityKeyValue("outcome", "lost");
  }

  /** As a tracer does it: the sender writes its header, the receiver reads it. */
  @Test
  void theTraceTravelsInTheMetadata() {
    String[] seen = new String[1];
    observations
        .observationConfig()
        .observationHandler(new Writer("00-1-2-01"))
        .observationHandler(new Reader(seen));
    RpcExchange.Handle asking = instrumentation().rpcStarted(client());
    assertThat(travelling).isEqualTo("00-1-2-01");
    RpcExchange.Handle serving = instrumentation().rpcStarted(server());
    assertThat(seen[0]).isEqualTo("00-1-2-01");
    serving.ended(RpcExchange.Outcome.SUCCESS);
    asking.ended(RpcExchange.Outcome.SUCCESS);
  }

  @Test
  void theSubscribersObservationIsTheParent() {
    Observation parent = Observation.start("request", observations);
    ContextView subscriber = Context.of(RpcObservations.CONTEXT_KEY, parent);
    instrumentation()
        .rpcStarted(call(RpcExchange.Side.CLIENT, subscriber))
        .ended(RpcExchange.Outcome.SUCCESS);
    parent.stop();
    assertThat(observations)
        .hasObservationWithNameEqualTo("lci.rpc.client")
        .that()
        .hasParentObservationEqualTo(parent);
  }

  /** What the served function subscribes finds its parent as Micrometer's own publishers do. */
  @Test
  void theServedFunctionSeesItsObservation() {
    RpcExchange.Handle serving = instrumentation().rpcStarted(server());
    Context context = serving.handlerContext(Context.of("other", 1));
    Observation found = context.get(RpcObservations.CONTEXT_KEY);
    assertThat(found.getContextView().getName()).isEqualTo("lci.rpc.server");
    assertThat(context.<Integer>get("other")).isEqualTo(1);
    serving.ended(RpcExchange.Outcome.SUCCESS);
  }

  /** With the handler for meters there is a timer, always with the same tag keys. */
  @Test
  void timersOfAllOutcomesHaveTheSameTags() {
    observations.observationConfig().observationHandler(new DefaultMeterObservationHandler(meters));
    instrumentation().rpcStarted(client()).ended(RpcExchange.Outcome.SUCCESS);
    instrumentation().rpcStarted(client()).ended(RpcExchange.Outcome.ERROR);
    assertThat(meters.get("lci.rpc.client").tags("outcome", "success").timer().count())
        .isEqualTo(1);
    assertThat(meters.get("lci.rpc.client").timers())
        .hasSize(2)
        .allSatisfy(
            timer ->
                assertThat(timer.getId().getTags())
                    .extracting(tag -> tag.getKey())
                    .containsExactlyInAnyOrder("function", "interaction", "outcome", "error"));
  }

  @Test
  void aConventionOfTheUsersNamesThem() {
    DefaultClientConvention own =
        new DefaultClientConvention() {
          @Override
          public String getName() {
            return "calls";
          }
        };
    LciInstrumentation instrumentation =
        LciMetrics.instrumentation(
            meters,
            MetricsOptions.defaults().withObservations(observations).withConventions(own, null));
    instrumentation.rpcStarted(client()).ended(RpcExchange.Outcome.SUCCESS);
    assertThat(observations).hasSingleObservationThat().hasNameEqualTo("calls");
  }

  @Test
  void withoutARegistryThereIsNothing() {
    LciInstrumentation plain = LciMetrics.instrumentation(meters);
    assertThat(plain.rpcStarted(client())).isSameAs(RpcExchange.Handle.NONE);
    assertThat(LciInstrumentation.NONE.rpcStarted(client())).isSameAs(RpcExchange.Handle.NONE);
    RpcExchange.Handle.NONE.ended(RpcExchange.Outcome.SUCCESS);
    assertThat(RpcExchange.Handle.NONE.handlerContext(Context.empty()).isEmpty()).isTrue();
    assertThat(observations).doesNotHaveAnyObservation();
  }

  /** That the registry of these tests notices a handle that is used twice. */
  @Test
  void endingTwiceIsNoticed() {
    RpcExchange.Handle asking = instrumentation().rpcStarted(client());
    asking.ended(RpcExchange.Outcome.SUCCESS);
    assertThatThrownBy(() -> asking.ended(RpcExchange.Outcome.SUCCESS))
        .isInstanceOf(RuntimeException.class);
  }

  /** The call goes on, and its observation with it. */
  @Test
  void aTraceThatDoesNotFitStaysHere() {
    observations
        .observationConfig()
        .observationHandler(new Writer("0".repeat(RpcExchange.MAX_TRACEPARENT + 1)));
    RpcExchange.Handle asking = instrumentation().rpcStarted(client());
    assertThat(travelling).isNull();
    asking.ended(RpcExchange.Outcome.SUCCESS);
    assertThat(observations).hasSingleObservationThat().hasBeenStopped().doesNotHaveError();
  }

  /** Throws when an observation starts, or when it is told an error. */
  private record Failing(RuntimeException failure, boolean atStart)
      implements ObservationHandler<Observation.Context> {
    @Override
    public void onStart(Observation.Context context) {
      if (atStart) {
        throw failure;
      }
    }

    @Override
    public void onError(Observation.Context context) {
      if (!atStart) {
        throw failure;
      }
    }

    @Override
    public boolean supportsContext(Observation.Context context) {
      return true;
    }
  }

  /** Whoever calls sees the failure, and ends nothing. */
  @ParameterizedTest
  @EnumSource(RpcExchange.Side.class)
  void anObservationWhoseHandlerFailsHasEnded(RpcExchange.Side side) {
    IllegalStateException failure = new IllegalStateException("of a handler");
    observations.observationConfig().observationHandler(new Failing(failure, true));
    LciInstrumentation instrumentation = instrumentation();
    assertThatThrownBy(() -> instrumentation.rpcStarted(call(side, Context.empty())))
        .isSameAs(failure);
    assertThat(observations).hasSingleObservationThat().hasBeenStopped().hasError(failure);
  }

  @ParameterizedTest
  @EnumSource(RpcExchange.Side.class)
  void anObservationWhoseHandlerFailsOverAnErrorHasEnded(RpcExchange.Side side) {
    IllegalStateException failure = new IllegalStateException("of a handler");
    observations.observationConfig().observationHandler(new Failing(failure, false));
    RpcExchange.Handle handle = instrumentation().rpcStarted(call(side, Context.empty()));
    assertThatThrownBy(() -> handle.ended(RpcExchange.Outcome.ERROR)).isSameAs(failure);
    assertThat(observations).hasSingleObservationThat().hasBeenStopped();
  }

  private record Writer(String traceparent) implements ObservationHandler<ClientContext> {
    @Override
    public void onStart(ClientContext context) {
      context.getSetter().set(context.getCarrier(), HEADER, traceparent);
      context.getSetter().set(context.getCarrier(), "baggage", "does not travel");
    }

    @Override
    public boolean supportsContext(Observation.Context context) {
      return context instanceof ClientContext;
    }
  }

  private record Reader(String[] seen) implements ObservationHandler<ReceiverContext<RpcExchange>> {
    @Override
    public void onStart(ReceiverContext<RpcExchange> context) {
      seen[0] = context.getGetter().get(context.getCarrier(), HEADER);
    }

    @Override
    public boolean supportsContext(Observation.Context context) {
      return context instanceof ReceiverContext;
    }
  }
}
