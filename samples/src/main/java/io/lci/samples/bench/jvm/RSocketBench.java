/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench.jvm;

import io.netty.buffer.ByteBufAllocator;
import io.rsocket.Payload;
import io.rsocket.RSocket;
import io.rsocket.core.RSocketConnector;
import io.rsocket.core.RSocketServer;
import io.rsocket.frame.decoder.PayloadDecoder;
import io.rsocket.transport.netty.client.TcpClientTransport;
import io.rsocket.transport.netty.server.CloseableChannel;
import io.rsocket.transport.netty.server.TcpServerTransport;
import io.rsocket.util.ByteBufPayload;
import java.net.SocketAddress;
import java.util.EnumSet;
import java.util.Set;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.netty.tcp.TcpClient;
import reactor.netty.tcp.TcpServer;

/**
 * The interactions of RSocket between two JVMs over a socket, with payloads of eight bytes that are
 * not copied. What RSocket has no name for is measured by what a user would take instead: a channel
 * for a stream of messages, fire-and-forget for the operations.
 */
public final class RSocketBench {
  private static final Set<Metric> NOT_OFFERED =
      EnumSet.of(
          Metric.OP_WINDOW,
          Metric.RMA_GET_8,
          Metric.RMA_GET_64K,
          Metric.GARBAGE_HANDLER,
          Metric.GARBAGE_MESSAGE);

  private final Metric metric;
  private final Dose dose;

  private RSocketBench(Metric metric, Dose dose) {
    this.metric = metric;
    this.dose = dose;
  }

  /**
   * Measures; takes seconds.
   *
   * @param arguments name of the metric; and {@code unix} for a unix domain socket
   */
  public static void main(String[] arguments) {
    Metric metric = Metric.of(arguments[0]);
    Meeting meeting = Meeting.ofJob(arguments.length > 1 && arguments[1].equals("unix"));
    Dose dose = JvmBench.dose(metric, JvmBench.SOCKETS);
    JvmBench.print(metric, measure(meeting, JvmBench.isFirst(), metric, dose));
  }

  /** Takes part in one measurement, to the end of it on both sides. */
  static double measure(Meeting meeting, boolean first, Metric metric, Dose dose) {
    if (NOT_OFFERED.contains(metric)) {
      throw JvmBench.notOffered(metric);
    }
    RSocketBench bench = new RSocketBench(metric, dose);
    return first ? bench.call(meeting) : bench.serve(meeting);
  }

  // ---- the second side: listens ---------------------------------------------------------------

  private double serve(Meeting meeting) {
    Sinks.Empty<Void> gone = Sinks.empty();
    Answers answers = new Answers(metric, dose);
    TcpServer socket =
        TcpServer.create()
            .bindAddress(meeting::place)
            .doOnBound(bound -> meeting.announce(bound.address()));
    CloseableChannel server =
        RSocketServer.create(
                (setup, caller) -> {
                  caller.onClose().subscribe(null, e -> gone.tryEmitEmpty(), gone::tryEmitEmpty);
                  return Mono.just(answers);
                })
            .payloadDecoder(PayloadDecoder.ZERO_COPY)
            .bindNow(TcpServerTransport.create(socket));
    gone.asMono().block();
    server.dispose();
    server.onClose().block();
    return 0;
  }

  /** What the second side answers. Signals of a connection are serial, so nothing is locked. */
  private static final class Answers implements RSocket {
    private final Metric metric;
    private final Dose dose;
    private long forgotten;

    Answers(Metric metric, Dose dose) {
      this.metric = metric;
      this.dose = dose;
    }

    @Override
    public Mono<Void> fireAndForget(Payload request) {
      forgotten += read(request);
      return Mono.empty();
    }

    /** Gives the number back; among operations, the sum of those that came before. */
    @Override
    public Mono<Payload> requestResponse(Payload request) {
      long number = read(request);
      if (metric == Metric.RPC_RESPONSE || metric == Metric.RPC_ROUND_TRIP) {
        return Mono.just(payload(number));
      }
      long sum = forgotten;
      forgotten = 0;
      return Mono.just(payload(sum));
    }

    @Override
    public Flux<Payload> requestStream(Payload request) {
      request.release();
      return numbers(dose).map(RSocketBench::payload);
    }

    /** Gives the numbers back; of a stream of messages, the sum alone. */
    @Override
    public Flux<Payload> requestChannel(Publisher<Payload> requests) {
      Flux<Long> numbers = Flux.from(requests).map(RSocketBench::read);
      return metric == Metric.AM_STREAM
          ? numbers.limitRate(Dose.DEMAND).reduce(0L, Long::sum).map(RSocketBench::payload).flux()
          : numbers.map(RSocketBench::payload);
    }
  }

  // ---- the first side: connects, and measures -------------------------------------------------

  private double call(Meeting meeting) {
    SocketAddress address = meeting.await();
    RSocket socket =
        RSocketConnector.create()
            .payloadDecoder(PayloadDecoder.ZERO_COPY)
            .connect(TcpClientTransport.create(TcpClient.create().remoteAddress(() -> address)))
            .blockOptional()
            .orElseThrow();
    try {
      return call(socket);
    } finally {
      socket.dispose();
      socket.onClose().onErrorComplete().block();
    }
  }

  private double call(RSocket socket) {
    return switch (metric) {
      case AM_STREAM -> rate(channel(socket));
      case AM_ROUND_TRIP ->
          RoundTrips.overStreams(dose, (there, back) -> back.apply(channel(socket, there)).then());
      case OP_CHAINS -> dose.rate(() -> forgetInChains(socket));
      case OP_FLATMAP -> dose.rate(() -> forgetByFlatMap(socket));
      case RPC_RESPONSE ->
          rate(numbers(dose).flatMap(number -> response(socket, number), Dose.CONCURRENCY));
      case RPC_ROUND_TRIP -> RoundTrips.overCalls(dose, number -> response(socket, number));
      case RPC_STREAM, STREAM_ITEMS -> rate(stream(socket));
      case RPC_CHANNEL -> rate(channel(socket));
      case GARBAGE_DECODER -> dose.garbage(() -> dose.checkSum(JvmBench.sum(stream(socket))));
      default -> throw JvmBench.notOffered(metric);
    };
  }

  private double rate(Flux<Long> numbers) {
    return dose.rate(() -> dose.checkSum(JvmBench.sum(numbers)));
  }

  private Flux<Long> channel(RSocket socket) {
    return channel(socket, numbers(dose));
  }

  /** Deferred, as what RSocket returns is for one subscriber. */
  private static Flux<Long> channel(RSocket socket, Flux<Long> there) {
    return Flux.defer(() -> socket.requestChannel(there.map(RSocketBench::payload)))
        .map(RSocketBench::read);
  }

  private static Flux<Long> stream(RSocket socket) {
    return Flux.defer(() -> socket.requestStream(payload(0))).map(RSocketBench::read);
  }

  private static Mono<Long> response(RSocket socket, long number) {
    return socket.requestResponse(payload(number)).map(RSocketBench::read);
  }

  private void forgetByFlatMap(RSocket socket) {
    numbers(dose)
        .flatMap(number -> socket.fireAndForget(payload(number)), Dose.CONCURRENCY)
        .blockLast();
    dose.checkSum(response(socket, 0).blockOptional().orElseThrow());
  }

  private void forgetInChains(RSocket socket) {
    int length = dose.count() / Dose.CONCURRENCY;
    Flux.range(0, Dose.CONCURRENCY)
        .flatMap(
            number -> Mono.defer(() -> socket.fireAndForget(payload(number))).repeat(length - 1L),
            Dose.CONCURRENCY)
        .blockLast();
    long sum = response(socket, 0).blockOptional().orElseThrow();
    Dose.check(sum, new Dose(Dose.CONCURRENCY).sum() * length);
  }

  // ---- both -----------------------------------------------------------------------------------

  private static Flux<Long> numbers(Dose dose) {
    return Flux.range(0, dose.count()).map(Integer::longValue);
  }

  private static Payload payload(long number) {
    return ByteBufPayload.create(
        ByteBufAllocator.DEFAULT.directBuffer(Long.BYTES).writeLong(number));
  }

  private static long read(Payload payload) {
    long number = payload.sliceData().readLong();
    payload.release();
    return number;
  }
}
