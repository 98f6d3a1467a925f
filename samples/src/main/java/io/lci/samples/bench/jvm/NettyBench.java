/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench.jvm;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.codec.FixedLengthFrameDecoder;
import java.net.SocketAddress;
import java.util.EnumSet;
import java.util.Iterator;
import java.util.Set;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.netty.Connection;
import reactor.netty.DisposableServer;
import reactor.netty.NettyInbound;
import reactor.netty.NettyOutbound;
import reactor.netty.tcp.TcpClient;
import reactor.netty.tcp.TcpServer;

/**
 * Messages of eight bytes between two JVMs over a socket by reactor-netty: framed by their fixed
 * length, each a buffer of its own, written and flushed as reactor-netty does by default.
 */
public final class NettyBench {
  private static final Set<Metric> OFFERED =
      EnumSet.of(Metric.AM_STREAM, Metric.AM_ROUND_TRIP, Metric.GARBAGE_DECODER);

  private final Metric metric;
  private final Dose dose;

  private NettyBench(Metric metric, Dose dose) {
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
    if (!OFFERED.contains(metric)) {
      throw JvmBench.notOffered(metric);
    }
    NettyBench bench = new NettyBench(metric, dose);
    return first ? bench.call(meeting) : bench.serve(meeting);
  }

  // ---- the second side: listens ---------------------------------------------------------------

  private double serve(Meeting meeting) {
    Sinks.Empty<Void> gone = Sinks.empty();
    DisposableServer server =
        TcpServer.create()
            .bindAddress(meeting::place)
            .doOnConnection(
                connection -> {
                  connection.addHandlerLast(frames());
                  connection.onDispose().subscribe(null, null, gone::tryEmitEmpty);
                })
            .handle((in, out) -> out.send(answers(numbers(in)).map(NettyBench::frame)))
            .bindNow();
    meeting.announce(server.address());
    gone.asMono().block();
    server.disposeNow();
    return 0;
  }

  private Flux<Long> answers(Flux<Long> numbers) {
    return switch (metric) {
      case AM_STREAM -> sums(numbers);
      case AM_ROUND_TRIP -> numbers;
      case GARBAGE_DECODER ->
          numbers.concatMap(go -> Flux.range(0, dose.count()).map(Integer::longValue));
      default -> throw JvmBench.notOffered(metric);
    };
  }

  // ---- the first side: connects, and measures -------------------------------------------------

  private double call(Meeting meeting) {
    SocketAddress address = meeting.await();
    Connection connection = TcpClient.create().remoteAddress(() -> address).connectNow();
    connection.addHandlerLast(frames());
    try {
      return switch (metric) {
        case AM_STREAM -> sendRounds(connection);
        case AM_ROUND_TRIP -> roundTrips(connection);
        case GARBAGE_DECODER -> garbage(connection);
        default -> throw JvmBench.notOffered(metric);
      };
    } finally {
      connection.disposeNow();
    }
  }

  private double sendRounds(Connection connection) {
    Iterator<Long> sums = numbers(connection.inbound()).toIterable().iterator();
    return dose.rate(
        () -> {
          Flux<Long> numbers = Flux.range(0, dose.count()).map(Integer::longValue);
          send(connection.outbound(), numbers).block();
          dose.checkSum(sums.next());
        });
  }

  private double roundTrips(Connection connection) {
    return RoundTrips.overStreams(
        dose,
        (there, back) ->
            Mono.when(
                send(connection.outbound(), there), back.apply(numbers(connection.inbound()))));
  }

  private double garbage(Connection connection) {
    Iterator<Long> sums = sums(numbers(connection.inbound())).toIterable().iterator();
    return dose.garbage(
        () -> {
          send(connection.outbound(), Flux.just(0L)).block();
          dose.checkSum(sums.next());
        });
  }

  // ---- both -----------------------------------------------------------------------------------

  /** Takes numbers as a user does who asks for some at a time; emits the sum of each round. */
  private Flux<Long> sums(Flux<Long> numbers) {
    long[] taken = new long[2];
    return numbers
        .limitRate(Dose.DEMAND)
        .handle(
            (number, sink) -> {
              taken[0] += number;
              if (++taken[1] % dose.count() == 0) {
                sink.next(taken[0]);
                taken[0] = 0;
              }
            });
  }

  private static Mono<Void> send(NettyOutbound out, Flux<Long> numbers) {
    return out.send(numbers.map(NettyBench::frame)).then();
  }

  private static Flux<Long> numbers(NettyInbound in) {
    return in.receive().map(ByteBuf::readLong);
  }

  private static ByteBuf frame(long number) {
    return ByteBufAllocator.DEFAULT.directBuffer(Long.BYTES).writeLong(number);
  }

  private static FixedLengthFrameDecoder frames() {
    return new FixedLengthFrameDecoder(Long.BYTES);
  }
}
