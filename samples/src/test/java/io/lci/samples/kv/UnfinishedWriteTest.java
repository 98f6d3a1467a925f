/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kv;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.LciRuntime;
import io.lci.samples.EachRank;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;

/**
 * A key whose owner stopped in the middle of a write: its slot is neither the old nor the new one.
 */
@ExtendWith(LciLeakCheck.class)
class UnfinishedWriteTest {
  private static final String KEY = "key";
  private static final int VERSION = 8;

  private final Placement placement = new Placement(1, 64, 512);
  private LciTestJob job;
  private KvTable table;
  private KvNode node;

  @BeforeEach
  void stopInTheMiddle() {
    job = LciTestJob.start(1);
    LciRuntime lci = job.rank(0);
    table = new KvTable(lci, placement);
    node =
        new KvNode(
            lci, placement, table, lci.memory().exchange(table.region()).block(EachRank.LIMIT));
    table
        .region()
        .view(placement.offset(placement.firstSlot(KEY)), placement.slotBytes())
        .putLong(VERSION, 1); // without the checksum, which is written last
  }

  @AfterEach
  void close() {
    job.close();
  }

  @Test
  void aReaderDoesNotWaitForEver() {
    assertThatThrownBy(() -> node.get(KEY).block(EachRank.LIMIT))
        .isInstanceOf(UnfinishedWriteException.class)
        .hasMessage("rank 0, which has this key, stopped in the middle of a write");
    table.put(KEY, "value".getBytes(UTF_8));
    assertThat(node.get(KEY).block(EachRank.LIMIT).value()).asString(UTF_8).isEqualTo("value");
  }

  @Test
  void theServiceIsUnavailableForItsKey() throws Exception {
    KvHttp http =
        new KvHttp(node, new PrometheusMeterRegistry(PrometheusConfig.DEFAULT), EachRank.LIMIT);
    DisposableServer server =
        HttpServer.create().host("127.0.0.1").port(0).route(http::routes).bindNow();
    try {
      HttpResponse<String> unfinished = get(server);
      assertThat(unfinished.statusCode()).isEqualTo(503);
      assertThat(unfinished.headers().firstValue("Retry-After")).hasValue("1");
      assertThat(unfinished.body()).contains("rank 0");
      table.put(KEY, "value".getBytes(UTF_8));
      assertThat(get(server).body()).isEqualTo("value");
    } finally {
      server.disposeNow();
    }
  }

  private static HttpResponse<String> get(DisposableServer server) throws Exception {
    URI uri = URI.create("http://127.0.0.1:" + server.port() + "/kv/" + KEY);
    return HttpClient.newHttpClient()
        .send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString());
  }
}
