/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kv;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.samples.EachRank;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.netty.handler.codec.http.HttpMethod;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;
import reactor.netty.ByteBufFlux;
import reactor.netty.DisposableServer;
import reactor.netty.http.client.HttpClient;
import reactor.netty.http.server.HttpServer;

/** Three ranks of the service in this JVM, each with its HTTP server on the loopback. */
@ExtendWith(LciLeakCheck.class)
class KvHttpTest {
  private static final int RANKS = 3;

  private LciTestJob job;
  private List<KvNode> nodes;
  private final List<DisposableServer> servers = new ArrayList<>();

  private record Response(int status, String etag, String body) {}

  @BeforeEach
  void start() {
    job = LciTestJob.start(RANKS);
    nodes = EachRank.run(job, lci -> KvNode.join(lci, new Placement(RANKS, 1024, 512)));
    for (KvNode node : nodes) {
      KvHttp http =
          new KvHttp(node, new PrometheusMeterRegistry(PrometheusConfig.DEFAULT), EachRank.LIMIT);
      servers.add(HttpServer.create().host("127.0.0.1").port(0).route(http::routes).bindNow());
    }
  }

  @AfterEach
  void stop() {
    servers.forEach(DisposableServer::disposeNow);
    job.close();
  }

  private Response send(int rank, HttpMethod method, String uri, String body) {
    return HttpClient.create()
        .port(servers.get(rank).port())
        .host("127.0.0.1")
        .request(method)
        .uri(uri)
        .send(ByteBufFlux.fromString(Mono.just(body)))
        .responseSingle(
            (response, content) ->
                content
                    .asString()
                    .defaultIfEmpty("")
                    .map(
                        text ->
                            new Response(
                                response.status().code(),
                                response.responseHeaders().get("etag", ""),
                                text)))
        .block(EachRank.LIMIT);
  }

  @Test
  void aValueIsWrittenReadReplacedAndRemovedAtAnyRank() {
    Response created = send(0, HttpMethod.PUT, "/kv/a%20key", "one");
    assertThat(created.status()).isEqualTo(201);
    Response read = send(1, HttpMethod.GET, "/kv/a%20key", "");
    assertThat(read).isEqualTo(new Response(200, created.etag(), "one"));
    assertThat(send(2, HttpMethod.PUT, "/kv/a%20key", "two").status()).isEqualTo(204);
    assertThat(send(0, HttpMethod.GET, "/kv/a%20key", "").body()).isEqualTo("two");
    assertThat(send(1, HttpMethod.DELETE, "/kv/a%20key", "").status()).isEqualTo(204);
    assertThat(send(1, HttpMethod.DELETE, "/kv/a%20key", "").status()).isEqualTo(404);
    assertThat(send(2, HttpMethod.GET, "/kv/a%20key", "").status()).isEqualTo(404);
  }

  @Test
  void badRequestsAreNamed() {
    assertThat(send(0, HttpMethod.GET, "/kv/", ""))
        .matches(r -> r.status() == 400 && r.body().contains("1 to 255 bytes"));
    assertThat(send(0, HttpMethod.PUT, "/kv/" + "k".repeat(256), "v").status()).isEqualTo(400);
    assertThat(send(0, HttpMethod.PUT, "/kv/k", "v".repeat(10_000)))
        .matches(r -> r.status() == 413 && r.body().contains("487 bytes at most"));
    assertThat(send(0, HttpMethod.PUT, "/kv/k", "v".repeat(487)).status()).isEqualTo(201);
    assertThat(send(0, HttpMethod.PUT, "/kv/%FF", "v").status()).isEqualTo(400);
    assertThat(send(0, HttpMethod.GET, "/kv/%4", "").status()).isEqualTo(400);
    for (String prefix : new String[] {"%ZZ", "%FF", "%4"}) {
      assertThat(send(0, HttpMethod.GET, "/scan?prefix=" + prefix, "").status())
          .as(prefix)
          .isEqualTo(400);
    }
    assertThat(send(0, HttpMethod.GET, "/prometheus", "").body())
        .contains("kv_requests_total{operation=\"scan\",status=\"400\"} 3.0");
    assertThat(send(0, HttpMethod.GET, "/elsewhere", "").status()).isEqualTo(404);
  }

  /** Were one answered before its body came, the next request on its connection might hang. */
  @ParameterizedTest
  @ValueSource(strings = {"PUT /kv/k", "PUT /kv/%FF", "PUT /elsewhere", "POST /kv/k", "GET /"})
  void noAnswerOvertakesItsRequest(String request) throws IOException {
    try (Socket client = new Socket(InetAddress.getLoopbackAddress(), servers.get(0).port())) {
      client.setSoTimeout(100);
      say(client, request + " HTTP/1.1\r\nHost: a\r\nContent-Length: 10000\r\n\r\n");
      say(client, "v".repeat(9_999));
      assertThatThrownBy(() -> client.getInputStream().read())
          .isInstanceOf(SocketTimeoutException.class);
      client.setSoTimeout((int) EachRank.LIMIT.toMillis());
      say(client, "vGET /kv/none HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
      assertThat(new String(client.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
          .contains("no such key");
    }
  }

  @Test
  void aBodyWithoutEndIsAnsweredAndCut() throws IOException {
    try (Socket client = new Socket(InetAddress.getLoopbackAddress(), servers.get(0).port())) {
      client.setSoTimeout((int) EachRank.LIMIT.toMillis());
      say(client, "PUT /kv/k HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n");
      say(client, "v".repeat(Body.MOST_READ + 1));
      assertThat(new String(client.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
          .startsWith("HTTP/1.1 413 ")
          .contains("connection: close")
          .contains("1048576 bytes at most");
    }
  }

  private static void say(Socket client, String text) throws IOException {
    client.getOutputStream().write(text.getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void methodsThatAKeyDoesNotHaveAreRefusedWithThoseThatItHas() {
    assertThat(send(0, HttpMethod.POST, "/kv/k", "v"))
        .isEqualTo(new Response(405, "", "methods of a key: GET, PUT, DELETE\n"));
    String allowed =
        HttpClient.create()
            .port(servers.get(0).port())
            .host("127.0.0.1")
            .request(HttpMethod.PATCH)
            .uri("/kv/k")
            .responseSingle(
                (response, content) -> Mono.just(response.responseHeaders().get("allow", "")))
            .block(EachRank.LIMIT);
    assertThat(allowed).isEqualTo("GET, PUT, DELETE");
  }

  @Test
  void aScanIsAStreamOfEvents() {
    send(0, HttpMethod.PUT, "/kv/b1", "one");
    send(0, HttpMethod.PUT, "/kv/b2", "two\nlines");
    send(0, HttpMethod.PUT, "/kv/c", "three");
    Response scan = send(1, HttpMethod.GET, "/scan?prefix=b", "");
    assertThat(scan.status()).isEqualTo(200);
    assertThat(scan.body()).isEqualTo("id: b1\ndata: one\n\nid: b2\ndata: two\ndata: lines\n\n");
  }

  @Test
  void keysOfARankThatLeftAreUnavailable() {
    String lost = key(2);
    String kept = key(1);
    send(0, HttpMethod.PUT, "/kv/" + lost, "v");
    send(0, HttpMethod.PUT, "/kv/" + kept, "v");
    job.rank(2).close();
    assertThat(send(0, HttpMethod.GET, "/kv/" + lost, ""))
        .matches(
            r -> r.status() == 503 && r.body().startsWith("rank 2, which has this key, is gone"));
    assertThat(send(1, HttpMethod.PUT, "/kv/" + lost, "w").status()).isEqualTo(503);
    assertThat(send(0, HttpMethod.GET, "/kv/" + kept, "").body()).isEqualTo("v");
    assertThat(send(0, HttpMethod.GET, "/scan", ""))
        .matches(r -> r.status() == 503 && r.body().contains("rank 2"));
  }

  @Test
  void metricsAreServed() {
    send(1, HttpMethod.PUT, "/kv/k", "v");
    send(1, HttpMethod.GET, "/kv/k", "");
    assertThat(send(1, HttpMethod.GET, "/prometheus", "").body())
        .contains("kv_entries")
        .contains("kv_requests_total{operation=\"GET\",status=\"200\"} 1.0")
        .contains("kv_requests_total{operation=\"PUT\",status=\"201\"} 1.0");
  }

  private String key(int owner) {
    return IntStream.range(0, 100)
        .mapToObj(i -> "key" + i)
        .filter(key -> nodes.get(0).owner(key) == owner)
        .findFirst()
        .orElseThrow();
  }
}
