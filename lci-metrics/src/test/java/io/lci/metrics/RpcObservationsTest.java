/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.LciInstrumentation;
import io.lci.metrics.RpcObservations.ClientContext;
import io.lci.metrics.RpcObservations.DefaultClientConvention;
import io.lci.rpc.RpcExchange;
import io.micrometer.core.instrument.observation.DefaultMeterObservationHandler;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.tck.TestObservationRegistry;
import io.micrometer.observation.transport.ReceiverContext;
import io.micrometer.observation.transport.SenderContext;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import reactor.util.context.Context;
import reactor.util.context.ContextView;

/** Remote procedure calls as observations; the calls themselves are the test's. */
class RpcObservationsTest {
  private static final String HEADER = "traceparent";

  /** A call between a client and a server that share a map, as if it had travelled. */
  private record Call(
      Side side, Interaction interaction, Map<String, String> metadata, ContextView context)
      implements RpcExchange {
    @Override
    public String function() {
      return "sum";
    }

    @Override
    public int peer() {
      return 3;
    }
  }

  private final TestObservationRegistry observations = TestObservationRegistry.create();
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private final Map<String, String> metadata = new HashMap<>();

  private LciInstrumentation instrumentation() {
    return LciMetrics.instrumentation(
        meters, MetricsOptions.defaults().withObservations(observations));
  }

  private Call call(RpcExchange.Side side, ContextView context) {
    return new Call(side, RpcExchange.Interaction.REQUEST_STREAM, metadata, context);
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
    serving.ended(RpcExchange.Outcome.COMPLETED);
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
        .hasLowCardinalityKeyValue("outcome", "completed")
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
    asking.ended(RpcExchange.Outcome.COMPLETED);
  }

  @Test
  void aFailureIsTheObservationsError() {
    IllegalStateException error = new IllegalStateException("no sum");
    instrumentation().rpcStarted(client()).ended(RpcExchange.Outcome.FAILED, error);
    assertThat(observations)
        .hasSingleObservationThat()
        .hasBeenStopped()
        .hasError(error)
        .hasLowCardinalityKeyValue("outcome", "failed");
  }

  /** As a tracer does it: the sender writes its header, the receiver reads it. */
  @Test
  void theTraceTravelsInTheMetadata() {
    String[] seen = new String[1];
    observations
        .observationConfig()
        .observationHandler(new Writer())
        .observationHandler(new Reader(seen));
    RpcExchange.Handle asking = instrumentation().rpcStarted(client());
    assertThat(metadata).containsEntry(HEADER, "00-1-2-01");
    RpcExchange.Handle serving = instrumentation().rpcStarted(server());
    assertThat(seen[0]).isEqualTo("00-1-2-01");
    serving.ended(RpcExchange.Outcome.COMPLETED);
    asking.ended(RpcExchange.Outcome.COMPLETED);
  }

  @Test
  void theSubscribersObservationIsTheParent() {
    Observation parent = Observation.start("request", observations);
    ContextView subscriber = Context.of(RpcObservations.CONTEXT_KEY, parent);
    instrumentation()
        .rpcStarted(call(RpcExchange.Side.CLIENT, subscriber))
        .ended(RpcExchange.Outcome.COMPLETED);
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
    Context context = serving.contextWrite(Context.of("other", 1));
    Observation found = context.get(RpcObservations.CONTEXT_KEY);
    assertThat(found.getContextView().getName()).isEqualTo("lci.rpc.server");
    assertThat(context.<Integer>get("other")).isEqualTo(1);
    serving.ended(RpcExchange.Outcome.COMPLETED);
  }

  /** With the handler for meters there is a timer, always with the same tag keys. */
  @Test
  void timersOfAllOutcomesHaveTheSameTags() {
    observations.observationConfig().observationHandler(new DefaultMeterObservationHandler(meters));
    instrumentation().rpcStarted(client()).ended(RpcExchange.Outcome.COMPLETED);
    instrumentation()
        .rpcStarted(client())
        .ended(RpcExchange.Outcome.FAILED, new IllegalStateException());
    assertThat(meters.get("lci.rpc.client").tags("outcome", "completed").timer().count())
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
    instrumentation.rpcStarted(client()).ended(RpcExchange.Outcome.COMPLETED);
    assertThat(observations).hasSingleObservationThat().hasNameEqualTo("calls");
  }

  @Test
  void withoutARegistryThereIsNothing() {
    LciInstrumentation plain = LciMetrics.instrumentation(meters);
    assertThat(plain.rpcStarted(client())).isSameAs(RpcExchange.Handle.NONE);
    assertThat(LciInstrumentation.NONE.rpcStarted(client())).isSameAs(RpcExchange.Handle.NONE);
    RpcExchange.Handle.NONE.ended(RpcExchange.Outcome.COMPLETED);
    assertThat(RpcExchange.Handle.NONE.contextWrite(Context.empty()).isEmpty()).isTrue();
    assertThat(observations).doesNotHaveAnyObservation();
  }

  /** That the registry of these tests notices a handle that is used twice. */
  @Test
  void endingTwiceIsNoticed() {
    RpcExchange.Handle asking = instrumentation().rpcStarted(client());
    asking.ended(RpcExchange.Outcome.COMPLETED);
    assertThatThrownBy(() -> asking.ended(RpcExchange.Outcome.COMPLETED))
        .isInstanceOf(RuntimeException.class);
  }

  private static final class Writer implements ObservationHandler<ClientContext> {
    @Override
    public void onStart(ClientContext context) {
      write(context, context.getCarrier());
    }

    private static <C> void write(SenderContext<C> context, C carrier) {
      context.getSetter().set(carrier, HEADER, "00-1-2-01");
    }

    @Override
    public boolean supportsContext(Observation.Context context) {
      return context instanceof ClientContext;
    }
  }

  private record Reader(String[] seen)
      implements ObservationHandler<ReceiverContext<Map<String, String>>> {
    @Override
    public void onStart(ReceiverContext<Map<String, String>> context) {
      seen[0] = context.getGetter().get(context.getCarrier(), HEADER);
    }

    @Override
    public boolean supportsContext(Observation.Context context) {
      return context instanceof ReceiverContext;
    }
  }
}
