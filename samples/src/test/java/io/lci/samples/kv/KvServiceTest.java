/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kv;

import static java.nio.ByteOrder.LITTLE_ENDIAN;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.am.Payload;
import io.lci.error.RemoteException;
import io.lci.samples.EachRank;
import io.lci.stream.StreamLimits;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.netty.DisposableServer;

/** The beginning and the end of the service. */
@ExtendWith(LciLeakCheck.class)
class KvServiceTest {
  private static final Duration SOON = Duration.ofMillis(500);
  private static final int VALUE = 20 << 10;
  private static final int ANY_PORT = 0;

  private final KvService service = new KvService();
  private LciTestJob job;
  private LciRuntime lci;
  private KvNode node;
  private KvHttp http;
  private KvHttp impatient;

  @BeforeEach
  void join() {
    job = LciTestJob.start(1);
    lci = job.rank(0);
    node = EachRank.run(job, rank -> KvNode.join(rank, new Placement(1, 64, 512))).get(0);
    http = http(node);
    impatient = http(node, SOON);
  }

  private static KvHttp http(KvNode node) {
    return http(node, EachRank.LIMIT);
  }

  private static KvHttp http(KvNode node, Duration patience) {
    return new KvHttp(node, new PrometheusMeterRegistry(PrometheusConfig.DEFAULT), patience);
  }

  @AfterEach
  void close() {
    job.close();
  }

  static Stream<Payload> nonsense() {
    return Stream.of(
        Payload.of(
            ByteBuffer.allocate(12).order(LITTLE_ENDIAN).putInt(8, Integer.MAX_VALUE).array()),
        Payload.of(ByteBuffer.allocate(12).order(LITTLE_ENDIAN).putInt(8, -1).array()),
        Payload.of(ByteBuffer.allocate(12).order(LITTLE_ENDIAN).putInt(8, 1).array()),
        Payload.empty(),
        new Entry("", 0, new byte[8]).payload(),
        new Entry("k".repeat(Placement.MAX_KEY + 1), 0, new byte[8]).payload(),
        new Entry("key", 0, new byte[512]).payload());
  }

  @ParameterizedTest
  @MethodSource("nonsense")
  void whatAnotherRankMakesUpIsRefused(Payload request) {
    node.put("key", new byte[] {1}).block(EachRank.LIMIT);
    assertThatThrownBy(() -> lci.rpc().requestResponse(0, "kv.put", request).block(EachRank.LIMIT))
        .isInstanceOf(RemoteException.class);
    assertThat(node.get("key").block(EachRank.LIMIT).value()).containsExactly(1);
  }

  @Test
  void requestsUnderWayAreAnsweredBeforeItLeaves() throws Exception {
    DisposableServer server = service.start(ANY_PORT, http);
    try (Socket client = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
      BufferedReader answer = reader(client);
      beginToWrite(client, answer, "k");
      CompletableFuture<Void> leaving =
          CompletableFuture.runAsync(() -> KvService.leave(lci, server, http, EachRank.LIMIT));
      await().until(server::isDisposed);
      write(client, "value");
      assertThat(status(answer)).contains(" 201 ");
      leaving.get(EachRank.LIMIT.toSeconds(), TimeUnit.SECONDS);
    }
    assertThat(lci.isDisposed()).isTrue();
  }

  /** A client that keeps its connection does not know yet, and sends one more request. */
  @Test
  void aConnectionThatIsKeptAliveIsAnsweredOnceMore() throws Exception {
    DisposableServer server = service.start(ANY_PORT, http);
    try (Socket client = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
      BufferedReader answer = reader(client);
      ask(client);
      assertThat(head(answer)).anyMatch(line -> line.contains(" 404 ")).noneMatch(CLOSES);
      CompletableFuture<Void> leaving =
          CompletableFuture.runAsync(() -> KvService.leave(lci, server, http, EachRank.LIMIT));
      await().until(http.connections()::isEnding);
      ask(client);
      assertThat(head(answer)).anyMatch(line -> line.contains(" 404 ")).anyMatch(CLOSES);
      assertThat(answer.readLine()).isNull();
      leaving.get(EachRank.LIMIT.toSeconds(), TimeUnit.SECONDS);
    }
    assertThat(lci.isDisposed()).isTrue();
  }

  private static final Predicate<String> CLOSES =
      line -> line.toLowerCase(Locale.ROOT).equals("connection: close");

  private static void ask(Socket client) throws IOException {
    write(client, "GET /kv/none HTTP/1.1\r\nHost: h\r\n\r\n");
  }

  /** The head of an answer, whose body of one line is read, too. */
  private static List<String> head(BufferedReader answer) throws IOException {
    List<String> lines = new ArrayList<>();
    for (String line = answer.readLine();
        line != null && !line.isEmpty();
        line = answer.readLine()) {
      lines.add(line);
    }
    answer.readLine();
    return lines;
  }

  /** When the whole job ends: the one that has nothing to do serves the other until it is done. */
  @Test
  void requestsThatNeedAnotherRankAreAnsweredBeforeItLeaves() throws Exception {
    try (LciTestJob two = LciTestJob.start(2)) {
      List<KvNode> nodes = EachRank.run(two, rank -> KvNode.join(rank, new Placement(2, 64, 512)));
      List<DisposableServer> servers = new ArrayList<>();
      List<KvHttp> https = nodes.stream().map(KvServiceTest::http).toList();
      for (int rank = 0; rank < 2; rank++) {
        servers.add(service.start(ANY_PORT, https.get(rank)));
      }
      String key =
          IntStream.range(0, 100)
              .mapToObj(i -> "k" + i)
              .filter(k -> nodes.get(0).owner(k) == 1)
              .findFirst()
              .orElseThrow();
      try (Socket client = new Socket(InetAddress.getLoopbackAddress(), servers.get(0).port())) {
        BufferedReader answer = reader(client);
        beginToWrite(client, answer, key);
        List<CompletableFuture<Void>> leaving = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
          int rank = i;
          leaving.add(
              CompletableFuture.runAsync(
                  () ->
                      KvService.leave(
                          two.rank(rank), servers.get(rank), https.get(rank), EachRank.LIMIT)));
        }
        await().until(() -> servers.stream().allMatch(DisposableServer::isDisposed));
        write(client, "value");
        assertThat(status(answer)).contains(" 201 ");
        for (CompletableFuture<Void> one : leaving) {
          one.get(EachRank.LIMIT.toSeconds(), TimeUnit.SECONDS);
        }
      }
    }
  }

  /** Whoever never ends a request is cut off, and peers are told that the rank leaves. */
  @Test
  void aRequestWithoutEndDoesNotKeepItFromLeaving() throws Exception {
    DisposableServer server = service.start(ANY_PORT, http);
    try (Socket client = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
      BufferedReader answer = reader(client);
      beginToWrite(client, answer, "k");
      KvService.leave(lci, server, http, Duration.ofMillis(10));
    }
    assertThat(lci.isDisposed()).isTrue();
  }

  /** One that sends nothing, and one whose body never comes. */
  @ParameterizedTest
  @ValueSource(strings = {"", "PUT /kv/k HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n"})
  void aClientThatSaysNoMoreIsLeft(String said) throws Exception {
    DisposableServer server = new KvService(SOON).start(ANY_PORT, impatient);
    try (Socket client = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
      client.setSoTimeout((int) EachRank.LIMIT.toMillis());
      write(client, said);
      BufferedReader answer = reader(client);
      List<String> lines = answer.lines().toList(); // up to the end of the connection
      assertThat(lines.isEmpty()).isEqualTo(said.isEmpty());
      assertThat(lines).allMatch(line -> !line.startsWith("HTTP") || line.contains(" 408 "));
    } finally {
      server.disposeNow();
    }
  }

  @Test
  void whoFindsNoPlaceForAScanIsTold() throws Exception {
    whileNobodyReadsAScan(service, server -> assertThat(scan(server)).startsWith("HTTP/1.1 503 "));
  }

  @Test
  void aScanThatNobodyReadsGivesItsPlaceBack() throws Exception {
    whileNobodyReadsAScan(
        new KvService(SOON),
        server ->
            await().atMost(EachRank.LIMIT).until(() -> scan(server).startsWith("HTTP/1.1 200 ")));
  }

  private interface Check {
    void run(DisposableServer server) throws IOException;
  }

  /** There is a place for one scan, and a client that does not read has it. */
  private static void whileNobodyReadsAScan(KvService service, Check check) throws Exception {
    LciOptions one =
        LciOptions.builder().streamLimits(StreamLimits.builder().streams(1).build()).build();
    Placement large = new Placement(1, 2048, VALUE + 512);
    try (LciTestJob narrow = LciTestJob.start(1, one)) {
      KvNode node = EachRank.run(narrow, rank -> KvNode.join(rank, large)).get(0);
      for (int i = 0; i < 512; i++) { // more than sockets and buffers hold
        node.put("k" + i, new byte[VALUE]).block(EachRank.LIMIT);
      }
      DisposableServer server = service.start(ANY_PORT, http(node));
      try (Socket client = new Socket()) {
        client.setReceiveBufferSize(4096);
        client.connect(server.address());
        write(client, "GET /scan HTTP/1.1\r\nHost: a\r\n\r\n");
        assertThat(client.getInputStream().read()).isEqualTo('H');
        check.run(server);
      } finally {
        server.disposeNow();
      }
    }
  }

  /** The status of a scan that finds nothing. */
  private static String scan(DisposableServer server) throws IOException {
    try (Socket client = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
      write(client, "GET /scan?prefix=none HTTP/1.1\r\nHost: a\r\n\r\n");
      return status(reader(client));
    }
  }

  @Test
  void anAddressInUseIsNamed() throws IOException {
    try (ServerSocket other = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      assertThatThrownBy(() -> service.start(other.getLocalPort(), http))
          .isInstanceOf(UncheckedIOException.class)
          .hasMessageContaining("cannot listen on 127.0.0.1:" + other.getLocalPort());
    }
  }

  /** The other rank never comes: it has left for the same reason, maybe. */
  @Test
  void aRankWithoutAPortDoesNotWaitForTheOthers() {
    service.port = 65535;
    service.slots = 64;
    service.slotBytes = 512;
    try (LciTestJob two = LciTestJob.start(2)) {
      PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
      Mono<Void> serving = Mono.fromRunnable(() -> service.serve(two.rank(0), registry));
      assertThatThrownBy(
              () -> serving.subscribeOn(Schedulers.boundedElastic()).block(EachRank.LIMIT))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage("--port 65535 leaves no port for rank 1");
    }
  }

  /** Those of operations' times, too, which only the runtime's instrumentation can have. */
  @Test
  void itsRuntimeHasAllMeters() {
    PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    try (LciTestJob measured = LciTestJob.start(1, KvService.options(registry))) {
      assertThat(measured.rank(0).isDisposed()).isFalse();
      assertThat(registry.scrape())
          .contains("lci_runtime_info{")
          .contains("lci_operation_latency_seconds_count{op=\"get\"}");
    }
    assertThat(registry.scrape()).doesNotContain("lci_");
  }

  private static BufferedReader reader(Socket client) throws IOException {
    return new BufferedReader(new InputStreamReader(client.getInputStream(), US_ASCII));
  }

  /** Sends a request but its body of five bytes, for which the server then waits. */
  private static void beginToWrite(Socket client, BufferedReader answer, String key)
      throws IOException {
    write(client, "PUT /kv/" + key + " HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n");
    write(client, "Content-Length: 5\r\n\r\n");
    assertThat(status(answer)).contains(" 100 ");
  }

  /** The first line of an answer; the rest of its head is passed over. */
  private static String status(BufferedReader answer) throws IOException {
    String first = answer.readLine();
    String line = first;
    while (line != null && !line.isEmpty()) {
      line = answer.readLine();
    }
    return first;
  }

  private static void write(Socket client, String text) throws IOException {
    client.getOutputStream().write(text.getBytes(US_ASCII));
    client.getOutputStream().flush();
  }
}
