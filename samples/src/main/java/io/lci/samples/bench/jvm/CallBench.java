/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench.jvm;

import io.lci.Codec;
import io.lci.LciRuntime;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.rpc.Rpc;
import io.lci.rpc.RpcHandler;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Calls of, and streams from, rank 1. All numbers have eight bytes. */
final class CallBench {
  private static final String NUMBERS = "numbers";

  private CallBench() {}

  /** Takes part in a measurement; rank 0 calls. */
  static double measure(LciRuntime lci, Metric metric, Dose dose) {
    if (lci.rank() != 0) {
      serve(lci, dose);
    }
    Rpc rpc = lci.rpc();
    lci.barrier().block(); // all names are known
    return lci.rank() == 0 ? call(lci, rpc, metric, dose) : 0;
  }

  private static void serve(LciRuntime lci, Dose dose) {
    lci.rpc().serve(NUMBERS, new Numbers(dose.count()));
    lci.streams().publish(NUMBERS, numbers(dose.count()), Codec.LONG);
  }

  private static double call(LciRuntime lci, Rpc rpc, Metric metric, Dose dose) {
    return switch (metric) {
      case RPC_ROUND_TRIP -> RoundTrips.overCalls(dose, number -> echo(rpc, number));
      case RPC_RESPONSE ->
          rate(dose, numbers(dose.count()).flatMap(number -> echo(rpc, number), Dose.CONCURRENCY));
      case RPC_STREAM ->
          rate(dose, rpc.requestStream(1, NUMBERS, Payload.empty()).map(CallBench::number));
      case RPC_CHANNEL ->
          rate(
              dose,
              rpc.requestChannel(1, NUMBERS, numbers(dose.count()).map(Payload::ofLong))
                  .map(CallBench::number));
      case STREAM_ITEMS -> rate(dose, lci.streams().subscribe(1, NUMBERS, Codec.LONG));
      default -> throw JvmBench.notOffered(metric);
    };
  }

  private static Mono<Long> echo(Rpc rpc, long number) {
    return rpc.requestResponse(1, NUMBERS, Payload.ofLong(number)).map(CallBench::number);
  }

  private static double rate(Dose dose, Flux<Long> numbers) {
    return dose.rate(() -> dose.checkSum(JvmBench.sum(numbers)));
  }

  private static Flux<Long> numbers(int count) {
    return Flux.range(0, count).map(Integer::longValue);
  }

  private static long number(Message message) {
    return message.getLong(0);
  }

  /** Gives numbers back, or as many as it knows. */
  private record Numbers(int count) implements RpcHandler {
    @Override
    public Mono<? extends Payload> requestResponse(Message request) {
      return Mono.just(Payload.ofLong(number(request)));
    }

    @Override
    public Publisher<? extends Payload> requestStream(Message request) {
      return numbers(count).map(Payload::ofLong);
    }

    @Override
    public Publisher<? extends Payload> requestChannel(int rank, Flux<Message> requests) {
      return requests.map(request -> Payload.ofLong(number(request)));
    }
  }
}
