/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples;

import com.sun.net.httpserver.HttpServer;
import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.am.InboxOptions;
import io.lci.am.Port;
import io.lci.metrics.LciMetrics;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Every rank serves its meters to Prometheus, while it sends numbers to the next one. */
@Command(
    name = "metrics",
    mixinStandardHelpOptions = true,
    description =
        "Every rank serves its meters to Prometheus over HTTP, on the loopback, and prints where;"
            + " meanwhile it sends numbers to the next one.")
public final class MetricsEndpoint implements Callable<Integer> {
  private static final Port NUMBERS = Port.of(1, "numbers");
  private static final Port UNREAD = Port.of(2, "unread");
  private static final Duration TICK = Duration.ofMillis(1);
  private static final int ROOM = 64;
  private static final String CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

  @Spec @Nullable CommandSpec spec;

  @Option(
      names = "--port",
      paramLabel = "P",
      defaultValue = "9464",
      description =
          "Rank r listens on port P + r; 0: each on any that is free. Default ${DEFAULT-VALUE}.")
  int port;

  @Option(
      names = "--seconds",
      paramLabel = "S",
      defaultValue = "0",
      description = "How long; 0: until it is ended. Default ${DEFAULT-VALUE}.")
  int seconds;

  @Option(
      names = "--stall",
      description = "Also send to a port that nobody reads, to see what that looks like.")
  boolean stall;

  @Override
  public Integer call() {
    Samples.require(spec, port >= 0 && port <= Samples.MOST_PORT, "--port must be 0 to 65535");
    Samples.require(spec, seconds >= 0, "--seconds must not be negative");
    PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    LciOptions options =
        LciOptions.builder().instrumentation(LciMetrics.instrumentation(registry)).build();
    try (LciRuntime lci = LciRuntime.create(options)) {
      int mine = Samples.portOf(lci, port);
      HttpServer server;
      try {
        server = serve(registry, mine);
      } catch (IOException e) {
        // Said before the others see that this rank is gone: they fail then, which ends the job.
        Samples.complain("metrics", "cannot listen on 127.0.0.1:" + mine + ": " + e.getMessage());
        return Samples.FAILED;
      }
      try {
        System.out.printf(
            "rank %d of %d: http://127.0.0.1:%d/metrics%n",
            lci.rank(), lci.size(), server.getAddress().getPort());
        work(lci).block();
      } finally {
        server.stop(0);
      }
    }
    return 0;
  }

  private static HttpServer serve(PrometheusMeterRegistry registry, int port) throws IOException {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
    server.createContext(
        "/metrics",
        exchange -> {
          byte[] text = registry.scrape().getBytes(StandardCharsets.UTF_8);
          exchange.getResponseHeaders().set("Content-Type", CONTENT_TYPE);
          exchange.sendResponseHeaders(200, text.length);
          exchange.getResponseBody().write(text);
          exchange.close();
        });
    server.start();
    return server;
  }

  private Mono<Void> work(LciRuntime lci) {
    int next = (lci.rank() + 1) % lci.size();
    lci.inbox(NUMBERS).handle(message -> {});
    Flux<Long> ticks = Flux.interval(TICK).onBackpressureDrop();
    Mono<Void> sent =
        lci.sender(NUMBERS)
            .sendAll(
                next,
                seconds == 0 ? ticks : ticks.take(Duration.ofSeconds(seconds)),
                (n, out) -> out.putLong(n));
    Disposable stalled = stall ? sendToNobody(lci, next) : Disposables.disposed();
    return sent.doFinally(signal -> stalled.dispose()).then(lci.barrier());
  }

  /** More than there is room for: most of it waits. */
  private static Disposable sendToNobody(LciRuntime lci, int next) {
    lci.inbox(UNREAD, InboxOptions.builder().messages(ROOM).build());
    return lci.sender(UNREAD)
        .sendAll(next, Flux.range(0, 100 * ROOM), (n, out) -> out.putInt(n))
        .subscribe();
  }
}
