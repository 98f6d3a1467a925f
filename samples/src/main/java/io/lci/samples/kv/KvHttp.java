/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.kv;

import io.lci.error.DeadlineExceededException;
import io.lci.error.LciClosedException;
import io.lci.error.LciException;
import io.lci.error.MemoryClosedException;
import io.lci.error.OperationCancelledException;
import io.lci.error.PeerFailedException;
import io.lci.error.PeerLeftException;
import io.lci.error.ResourceExhaustedException;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.QueryStringDecoder;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeoutException;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Predicate;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.http.server.HttpServerRequest;
import reactor.netty.http.server.HttpServerResponse;
import reactor.netty.http.server.HttpServerRoutes;

/** The service's HTTP interface: what a request means, and which status its end has. */
final class KvHttp {
  private static final String KEYS = "/kv/";
  private static final String METHODS = "GET, PUT, DELETE";
  private static final String TEXT = "text/plain; charset=utf-8";
  private static final String BYTES = "application/octet-stream";

  /** What decoding makes of bytes that are no UTF-8. */
  private static final char NO_CHARACTER = '\uFFFD';

  /** Says which rank owns the key that was asked for. */
  private static final String OWNER = "KV-Owner";

  private static final Mono<Answer> NOT_THERE =
      Mono.fromSupplier(() -> Answer.text(404, "no such key"));

  private static final String HELP =
      """
      GET    /kv/KEY            the value; its version is the ETag
      PUT    /kv/KEY            stores the body
      DELETE /kv/KEY            removes the key
      GET    /scan?prefix=TEXT  all keys that begin so, sorted, as server-sent events
      GET    /prometheus        metrics of this rank
      """;

  private final KvNode node;
  private final PrometheusMeterRegistry registry;
  private final Duration patience;
  private final KeptConnections connections = new KeptConnections();

  /**
   * The interface of one node.
   *
   * @param patience how long the body of a request may take
   */
  KvHttp(KvNode node, PrometheusMeterRegistry registry, Duration patience) {
    this.node = node;
    this.registry = registry;
    this.patience = patience;
    registry.gauge("kv.entries", node, KvNode::size);
  }

  KeptConnections connections() {
    return connections;
  }

  /** Adds the routes. */
  void routes(HttpServerRoutes routes) {
    routes
        .route(keys(HttpMethod.GET), read(this::get))
        .route(keys(HttpMethod.PUT), read(this::put))
        .route(keys(HttpMethod.DELETE), read(this::remove))
        .route(request -> request.uri().startsWith(KEYS), read(this::refuse))
        .get("/scan", read(this::scan))
        .get("/prometheus", read((request, body, response) -> text(response, registry.scrape())))
        .get("/", read((request, body, response) -> text(response, HELP)))
        .route(
            request -> true,
            read(
                (request, body, response) ->
                    send("other", response, Answer.text(404, "no such page"))));
  }

  /** What answers a request whose body has come. */
  private interface Handler {
    Publisher<Void> answer(HttpServerRequest request, Body body, HttpServerResponse response);
  }

  private BiFunction<HttpServerRequest, HttpServerResponse, Publisher<Void>> read(Handler handler) {
    return (request, response) ->
        Body.of(request, node.placement().slotBytes())
            .timeout(patience)
            .map(body -> handler.answer(request, body, response))
            .onErrorResume(e -> Mono.just(send(request.method().name(), response, failure(e))))
            .flatMapMany(Function.identity());
  }

  private static Predicate<HttpServerRequest> keys(HttpMethod method) {
    return request -> request.method().equals(method) && request.uri().startsWith(KEYS);
  }

  // ---- requests

  private Publisher<Void> get(HttpServerRequest request, Body body, HttpServerResponse response) {
    return answered(
        request,
        response,
        key ->
            node.get(key)
                .map(entry -> Answer.of(200, BYTES, entry.value(), entry.version()))
                .switchIfEmpty(NOT_THERE));
  }

  private Publisher<Void> put(HttpServerRequest request, Body body, HttpServerResponse response) {
    return answered(
        request,
        response,
        key ->
            node.put(key, body.whole(node.placement().maxValue(key)))
                .map(stored -> Answer.empty(stored.created() ? 201 : 204, stored.version())));
  }

  private Publisher<Void> remove(
      HttpServerRequest request, Body body, HttpServerResponse response) {
    return answered(
        request,
        response,
        key ->
            node.remove(key).map(version -> Answer.empty(204, version)).switchIfEmpty(NOT_THERE));
  }

  private Publisher<Void> refuse(
      HttpServerRequest request, Body body, HttpServerResponse response) {
    count("other", 405);
    response.status(HttpResponseStatus.METHOD_NOT_ALLOWED).header(HttpHeaderNames.ALLOW, METHODS);
    return text(response, "methods of a key: " + METHODS + "\n");
  }

  private Publisher<Void> scan(HttpServerRequest request, Body body, HttpServerResponse response) {
    return Mono.fromCallable(() -> prefix(request))
        .flatMapMany(node::scan)
        .switchOnFirst(
            (first, entries) -> {
              Throwable error = first.getThrowable();
              if (error != null) {
                Answer answer = Answer.text(failure(error).status(), reason(error));
                return send("scan", response, answer);
              }
              count("scan", 200);
              connections.answering(response);
              return response.sse().sendString(events(entries), StandardCharsets.UTF_8);
            });
  }

  private static Flux<String> events(Flux<Entry> entries) {
    return entries
        .map(ServerSentEvent::of)
        .onErrorResume(LciException.class, e -> Mono.just(ServerSentEvent.failure(reason(e))));
  }

  private static String prefix(HttpServerRequest request) {
    return text(
        "prefix",
        new QueryStringDecoder(request.uri())
            .parameters()
            .getOrDefault("prefix", List.of(""))
            .get(0));
  }

  /** Refuses what was no UTF-8: else all such texts would be one. */
  private static String text(String what, String decoded) {
    if (decoded.indexOf(NO_CHARACTER) >= 0) {
      throw new IllegalArgumentException("a " + what + " is text in UTF-8");
    }
    return decoded;
  }

  private static Mono<String> key(HttpServerRequest request) {
    return Mono.fromCallable(
        () -> {
          String key = URI.create(request.uri()).getPath().substring(KEYS.length());
          int bytes = key.getBytes(StandardCharsets.UTF_8).length;
          if (bytes == 0 || bytes > Placement.MAX_KEY) {
            throw new IllegalArgumentException(
                "a key has 1 to " + Placement.MAX_KEY + " bytes, not " + bytes);
          }
          return text("key", key);
        });
  }

  // ---- answers

  /**
   * What goes back.
   *
   * @param status of HTTP
   * @param type of the body
   * @param body its bytes
   * @param version the ETag; 0 for none
   * @param whole whether all of the request was read
   */
  private record Answer(int status, String type, byte[] body, long version, boolean whole) {
    static Answer of(int status, String type, byte[] body, long version) {
      return new Answer(status, type, body, version, true);
    }

    static Answer empty(int status, long version) {
      return of(status, TEXT, new byte[0], version);
    }

    static Answer text(int status, String line) {
      return of(status, TEXT, (line + "\n").getBytes(StandardCharsets.UTF_8), 0);
    }

    /** Goes out before the request has come whole, and ends its connection. */
    Answer early() {
      return new Answer(status, type, body, version, false);
    }
  }

  private Publisher<Void> answered(
      HttpServerRequest request,
      HttpServerResponse response,
      Function<String, Mono<Answer>> answer) {
    return key(request)
        .doOnNext(key -> response.header(OWNER, Integer.toString(node.owner(key))))
        .flatMap(answer)
        .onErrorResume(e -> Mono.just(failure(e)))
        .flatMap(result -> send(request.method().name(), response, result));
  }

  private Mono<Void> send(String operation, HttpServerResponse response, Answer result) {
    count(operation, result.status());
    connections.answering(response);
    response.status(HttpResponseStatus.valueOf(result.status()));
    if (result.version() != 0) {
      response.header(HttpHeaderNames.ETAG, "\"" + result.version() + "\"");
    }
    if (!result.whole()) {
      response.keepAlive(false); // what comes next on it would be the rest of this request
    }
    if (result.status() == 503) {
      response.header(HttpHeaderNames.RETRY_AFTER, "1");
    }
    if (result.body().length == 0) {
      response.header(HttpHeaderNames.CONTENT_LENGTH, "0");
      return response.send().then();
    }
    response.header(HttpHeaderNames.CONTENT_TYPE, result.type());
    return response.sendByteArray(Mono.just(result.body())).then();
  }

  /** One line that says what was wrong, and whose fault it was. */
  private static Answer failure(Throwable error) {
    if (error instanceof PeerFailedException
        || error instanceof PeerLeftException
        || error instanceof MemoryClosedException) {
      int rank = ((LciException) error).rank();
      return Answer.text(503, "rank " + rank + ", which has this key, is gone: " + reason(error));
    }
    if (error instanceof LciClosedException
        || error instanceof OperationCancelledException
        || error instanceof DeadlineExceededException
        || error instanceof ResourceExhaustedException
        || error instanceof UnfinishedWriteException) {
      return Answer.text(503, reason(error));
    }
    if (error instanceof TimeoutException) {
      return Answer.text(408, "the rest of the request did not come").early();
    }
    if (error instanceof TableFullException) {
      return Answer.text(507, reason(error));
    }
    if (error instanceof Body.EndlessException) {
      return Answer.text(413, reason(error)).early();
    }
    if (error instanceof Body.TooLargeException) {
      return Answer.text(413, reason(error));
    }
    if (error instanceof IllegalArgumentException) {
      return Answer.text(400, reason(error));
    }
    return Answer.text(500, error.toString());
  }

  private static String reason(Throwable error) {
    return String.valueOf(error.getMessage());
  }

  private Publisher<Void> text(HttpServerResponse response, String text) {
    connections.answering(response);
    return response.header(HttpHeaderNames.CONTENT_TYPE, TEXT).sendString(Mono.just(text));
  }

  private void count(String operation, int status) {
    registry
        .counter("kv.requests", "operation", operation, "status", Integer.toString(status))
        .increment();
  }
}
