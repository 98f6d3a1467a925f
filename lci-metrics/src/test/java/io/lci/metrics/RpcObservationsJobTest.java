/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.LciOptions;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.metrics.RpcObservations.ClientContext;
import io.lci.metrics.RpcObservations.ServerContext;
import io.lci.rpc.RpcHandler;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.tck.TestObservationRegistry;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Mono;

/** Real calls between two ranks, seen by an observer of both. */
@ExtendWith(LciLeakCheck.class)
class RpcObservationsJobTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final String TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

  private final TestObservationRegistry observations = TestObservationRegistry.create();
  private final List<String> served = new CopyOnWriteArrayList<>();
  private final List<String> ended = new CopyOnWriteArrayList<>();

  /** What a tracer does: the client's side writes its header, the server's reads it. */
  private final class Tracer implements ObservationHandler<Observation.Context> {
    @Override
    public void onStart(Observation.Context context) {
      if (context instanceof ClientContext client) {
        client.getSetter().set(client.getCarrier(), "traceparent", TRACE);
      } else if (context instanceof ServerContext server) {
        served.add(String.valueOf(server.getGetter().get(server.getCarrier(), "traceparent")));
      }
    }

    @Override
    public void onStop(Observation.Context context) {
      ended.add(context.getName() + ' ' + context.getLowCardinalityKeyValue("outcome").getValue());
    }

    @Override
    public boolean supportsContext(Observation.Context context) {
      return true;
    }
  }

  @Test
  void aTraceGoesOnInTheServingRank() {
    observations.observationConfig().observationHandler(new Tracer());
    MetricsOptions options = MetricsOptions.defaults().withObservations(observations);
    LciOptions observed =
        LciOptions.builder()
            .instrumentation(LciMetrics.instrumentation(new SimpleMeterRegistry(), options))
            .build();
    try (LciTestJob job = LciTestJob.start(2, observed)) {
      job.rank(1)
          .rpc()
          .serve(
              "where",
              RpcHandler.response(
                  request ->
                      Mono.deferContextual(
                          context -> {
                            Observation own = context.get(RpcObservations.CONTEXT_KEY);
                            return Mono.just(Payload.ofUtf8(own.getContextView().getName()));
                          })));
      job.rank(1)
          .rpc()
          .serve("fail", RpcHandler.response(request -> Mono.error(new IllegalStateException())));
      Message answer =
          job.rank(0).rpc().requestResponse(1, "where", Payload.ofLong(1)).block(LIMIT);
      assertThat(answer.utf8())
          .as("the observation that the function runs in")
          .isEqualTo("lci.rpc.server");
      job.rank(0)
          .rpc()
          .requestResponse(1, "fail", Payload.ofLong(1))
          .onErrorResume(error -> Mono.empty())
          .block(LIMIT);
      await().atMost(LIMIT).until(() -> ended.size() == 4);
    }
    assertThat(served).containsExactly(TRACE, TRACE);
    assertThat(ended)
        .containsExactlyInAnyOrder(
            "lci.rpc.client success",
            "lci.rpc.server success",
            "lci.rpc.client error",
            "lci.rpc.server error");
  }
}
