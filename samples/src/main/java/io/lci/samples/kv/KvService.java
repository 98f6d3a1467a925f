/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kv;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.metrics.LciMetrics;
import io.lci.samples.Samples;
import io.lci.stream.StreamLimits;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.netty.handler.timeout.WriteTimeoutHandler;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import reactor.netty.ChannelBindException;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;

/** Serves keys and values over HTTP on every rank, until it is told to end. */
@Command(
    name = "kv-service",
    mixinStandardHelpOptions = true,
    description = {
      "Keys and values over HTTP. Every rank serves all keys; each key is owned by one rank.",
      "SIGTERM or Ctrl-C ends it when what it is doing is answered.",
      "With ./lci run --grace SECONDS the others go on when a rank dies."
    })
public final class KvService implements Callable<Integer> {
  /** For what is under way over HTTP, and once more between ranks: the launcher waits for 5 s. */
  private static final Duration LEAVING = Duration.ofSeconds(2);

  /** A value goes to its owner as one item. */
  private static final int MOST_SLOT_BYTES = StreamLimits.DEFAULT_ITEM_BYTES;

  @Option(
      names = "--host",
      defaultValue = "127.0.0.1",
      description = "Address to listen on. Default ${DEFAULT-VALUE}.")
  String host = "127.0.0.1";

  @Option(
      names = "--port",
      paramLabel = "P",
      defaultValue = "8080",
      description =
          "Rank R listens on P + R; 0: on any free one, which it prints. Default ${DEFAULT-VALUE}.")
  int port;

  @Option(
      names = "--slots",
      paramLabel = "N",
      defaultValue = "16384",
      description = "Places for keys on each rank. Default ${DEFAULT-VALUE}.")
  int slots;

  @Option(
      names = "--slot-bytes",
      paramLabel = "B",
      defaultValue = "1024",
      description =
          "Bytes of a key with its value, 24 for itself included. Default ${DEFAULT-VALUE}.")
  int slotBytes;

  @Spec @Nullable CommandSpec spec;

  private final Duration patience;

  /** With the times that fit people and their browsers. */
  public KvService() {
    this(Duration.ofSeconds(30));
  }

  /**
   * With a time of one's own.
   *
   * @param patience how long a client may say nothing, take to send a request, or not read
   */
  KvService(Duration patience) {
    this.patience = patience;
  }

  /** Runs as a program of its own. */
  public static void main(String[] args) {
    Samples.run(new KvService(), args);
  }

  @Override
  public Integer call() {
    Samples.require(
        spec, port >= 0 && port <= Samples.MOST_PORT, "--port must be 0 to 65535, not " + port);
    Samples.require(
        spec,
        slots > 0 && slots <= Placement.MAX_SLOTS,
        "--slots must be 1 to " + Placement.MAX_SLOTS + ", not " + slots);
    Samples.require(
        spec,
        slotBytes >= 512 && slotBytes <= MOST_SLOT_BYTES && slotBytes % 8 == 0,
        "--slot-bytes must be a multiple of 8 from 512 to "
            + MOST_SLOT_BYTES
            + ", not "
            + slotBytes);
    PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    try (LciRuntime lci = LciRuntime.create(options(registry))) {
      serve(lci, registry);
    }
    return 0;
  }

  /**
   * Serves until the runtime ends. A rank without a port says so before it meets the others: each
   * finds this out alone, and none waits for one that has left for it.
   */
  void serve(LciRuntime lci, PrometheusMeterRegistry registry) {
    int mine = Samples.portOf(lci, port);
    KvNode node =
        KvNode.join(lci, new Placement(lci.size(), slots, slotBytes)).blockOptional().orElseThrow();
    KvHttp http = new KvHttp(node, registry, patience);
    DisposableServer server = start(mine, http);
    Thread leaving = new Thread(() -> leave(lci, server, http, LEAVING), "kv-leaving");
    Runtime.getRuntime().addShutdownHook(leaving);
    System.out.printf("rank %d serves http://%s:%d%n", lci.rank(), host, server.port());
    lci.onClose().block(); // the end of leave(), which may still answer requests until then
  }

  /** Meters as long as the runtime lives, those of operations' times included. */
  static LciOptions options(MeterRegistry registry) {
    return LciOptions.builder().instrumentation(LciMetrics.instrumentation(registry)).build();
  }

  DisposableServer start(int mine, KvHttp http) {
    try {
      return HttpServer.create()
          .host(host)
          .port(mine)
          // Only with a group does the server wait for requests under way when it ends.
          .channelGroup(http.connections().group())
          // A client has no say in how long a connection lives, or a scan has its streams.
          .idleTimeout(patience)
          .doOnConnection(
              c -> c.addHandlerLast(new WriteTimeoutHandler(patience.toMillis(), MILLISECONDS)))
          .route(http::routes)
          .bindNow();
    } catch (ChannelBindException e) {
      String where = "cannot listen on " + host + ":" + mine;
      throw new UncheckedIOException(
          where + ": the port is in use, or the address is not of this machine",
          new IOException(e));
    }
  }

  /**
   * Connections that clients keep are answered once more, for half of the limit at most: their
   * clients learn from the answer that it is the last. Then no more connections are taken. Requests
   * that have come are answered, here and by the ranks that end at the same time, which may need
   * this one for them; then peers are told that this rank leaves. Each takes the limit at most.
   */
  static void leave(LciRuntime lci, DisposableServer server, KvHttp http, Duration limit) {
    long begin = System.nanoTime();
    try {
      http.connections().end(limit.dividedBy(2));
      server.disposeNow(left(limit, begin));
    } catch (IllegalStateException e) { // a client is slow: a scan has no end in sight
      Samples.complain("kv-service", "requests are cut off: " + e.getMessage());
    } finally {
      // Ends with an error where another rank is gone, and never where only this one is to end.
      lci.barrier().timeout(left(limit, begin)).onErrorComplete().block();
      lci.disposeGracefully(limit).block();
    }
  }

  private static Duration left(Duration limit, long begin) {
    Duration left = limit.minusNanos(System.nanoTime() - begin);
    return left.isNegative() ? Duration.ZERO : left;
  }
}
