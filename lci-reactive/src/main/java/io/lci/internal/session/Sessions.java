/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import io.lci.LciRuntime;
import io.lci.PeerEvent;
import io.lci.am.Inbox;
import io.lci.am.Message;
import io.lci.am.MessageView;
import io.lci.am.Payload;
import io.lci.am.Sender;
import io.lci.am.SenderOptions;
import io.lci.error.DeadlineExceededException;
import io.lci.error.LciClosedException;
import io.lci.error.LciException;
import io.lci.error.PeerFailedException;
import io.lci.error.PeerLeftException;
import io.lci.error.PortClosedException;
import io.lci.internal.core.Nanos;
import io.lci.internal.core.ReservedPorts;
import io.lci.internal.core.Thrown;
import io.lci.internal.loop.TimerRefusal;
import io.lci.rpc.CallOptions;
import io.lci.rpc.Rpc;
import io.lci.rpc.RpcExchange.Outcome;
import io.lci.rpc.RpcHandler;
import io.lci.stream.Codec;
import io.lci.stream.StreamLimits;
import io.lci.stream.Streams;
import io.lci.stream.SubscribeOptions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.CoreSubscriber;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/** The links of a runtime to its peers, and what users see of them. */
public final class Channels implements Streams, Rpc {

  private static final Logger LOG = LoggerFactory.getLogger(LciRuntime.class);

  /** Frames that the sender takes ahead: they leave in the order in which they were taken. */
  private static final int SENDER_WINDOW = 64;

  /** Most bytes of a frame; smaller packets make smaller frames, down to the least. */
  private static final int MOST_FRAME = 1 << 16;

  private static final int LEAST_FRAME = 1_024;

  private final LciRuntime runtime;
  private final Home home;
  private final Sender sender;
  private final Functions functions;
  private final Names names;
  private final ChannelCounters counters = new ChannelCounters();

  /** Written by the loop. */
  private volatile boolean isClosed;

  /** What calls end with when it is closed. Written before that. */
  private volatile Function<String, RuntimeException> ending;

  // Loop only
  private final @Nullable Link[] links;
  private final @Nullable PeerEvent[] gone;
  private final List<Departure> departures = new ArrayList<>();
  private @Nullable Inbox inbox;

  /** A peer that is gone, and how many messages may have come from it that were not looked at. */
  private static final class Departure {
    /** Messages of its wait for room: how many come before them is not known. */
    private static final int LEFT_BEHIND = Integer.MAX_VALUE - 1;

    private static final int UNKNOWN = Integer.MAX_VALUE;

    private final int rank;
    private int left = UNKNOWN;

    Departure(int rank) {
      this.rank = rank;
    }
  }

  /** Any thread; {@link #open()} follows. */
  public Channels(LciRuntime runtime, Home home) {
    this.runtime = runtime;
    this.home = home;
    this.ending = home::closed;
    this.sender =
        runtime.sender(ReservedPorts.SESSIONS, SenderOptions.defaults().withWindow(SENDER_WINDOW));
    this.links = new Link[runtime.size()];
    this.gone = new PeerEvent[runtime.size()];
    this.functions = new Functions(runtime.options().instrumentation());
    this.names = new Names(this);
  }

  /** Opens the port: from now on peers can talk to this rank. */
  public void open() {
    Inbox opened = runtime.inbox(ReservedPorts.SESSIONS);
    home.execute(() -> inbox = opened, () -> {});
    opened
        .receive(
            view -> {
              message(view);
              return Boolean.TRUE;
            })
        .subscribe(taken -> {}, this::closed, () -> closed(home.closed("receive")));
    runtime.peerEvents().subscribe(this::peerChanged);
  }

  /** Adds what was counted. Any thread; values are recent. */
  public static void count(@Nullable Channels channels, Map<String, Long> into) {
    (channels == null ? new ChannelCounters() : channels.counters).addTo(into);
  }

  // For the package

  Home home() {
    return home;
  }

  int rank() {
    return runtime.rank();
  }

  StreamLimits limits() {
    return runtime.options().streamLimits();
  }

  ChannelCounters counters() {
    return counters;
  }

  Scheduler timer() {
    Scheduler timer = runtime.options().timer();
    return timer == null ? Schedulers.parallel() : timer;
  }

  /**
   * Runs a task on the loop after some time.
   *
   * @throws RuntimeException if the timer does not take it, see {@link TimerRefusal}
   */
  Disposable later(Runnable task, Duration time) {
    return timer()
        .schedule(() -> home.execute(task, () -> {}), Nanos.of(time), TimeUnit.NANOSECONDS);
  }

  void violation(int peer, String what) {
    counters.violations++;
    LOG.warn("rank {}: rank {} sent what makes no sense: {}", rank(), peer, what);
  }

  /** The peer opened an exchange. */
  void accept(Exchange exchange, InFrame frame) {
    if (exchange.kind == Kind.STREAM) {
      names.accept(exchange, frame.awaitMillis);
    } else {
      functions.accept(exchange, frame.trace);
    }
  }

  void closed(Exchange exchange) {
    if (exchange.kind == Kind.STREAM && !exchange.opener) {
      names.forget(exchange);
    }
  }

  // Peers

  private void message(MessageView view) {
    int from = view.rank();
    link(from).message(view);
    if (!departures.isEmpty()) {
      lookedAt();
    }
  }

  Link link(int rank) {
    Link found = links[rank];
    if (found != null) {
      return found;
    }
    int frame = Math.max(LEAST_FRAME, Math.min(MOST_FRAME, runtime.maxEager()));
    Link made = new Link(this, rank, frame - InFrame.HEADER);
    links[rank] = made;
    PeerEvent event = gone[rank];
    if (isClosed) {
      made.fail(ending, Outcome.LOST);
    } else if (event != null && departures.stream().noneMatch(d -> d.rank == rank)) {
      made.fail(lost(event), Outcome.LOST);
    } else {
      sender
          .sendAll(rank, made.frames(), OutFrame.ENCODER)
          .subscribe(null, error -> wireFailed(made, error));
    }
    return made;
  }

  /**
   * Frames cannot be sent any more: each exchange gets an error of the same type, now and later. A
   * slow peer is no reason, see {@code Submitter.waitsBeyondLimit}; what is one does not pass.
   */
  private void wireFailed(Link link, Throwable error) {
    if (error instanceof PeerFailedException
        || error instanceof PeerLeftException
        || error instanceof PortClosedException) { // it closes its ports just before it leaves
      return; // its event ends the link, when what it had sent was handed on
    }
    link.fail(
        operation -> {
          if (error instanceof LciClosedException) {
            return home.closed(operation);
          }
          return error instanceof RuntimeException e ? e : new IllegalStateException(error);
        },
        Outcome.LOST);
    if (error instanceof LciException known && !(error instanceof LciClosedException)) {
      // Or the peer would wait for what does not come any more. If that fails, too, so be it
      link.farewell(WireError.of(known.code(), known.hint()));
      sender
          .sendAll(link.peer(), link.frames(), OutFrame.ENCODER)
          .subscribe(null, again -> LOG.warn("{} could not be told of its end", link, again));
    }
  }

  private static Function<String, RuntimeException> lost(PeerEvent event) {
    return operation ->
        event.state() == PeerEvent.State.LEFT
            ? new PeerLeftException(
                WireError.detail(
                    operation, event.rank(), "error_peer_left", "the peer left the job"))
            : new PeerFailedException(
                WireError.detail(operation, event.rank(), "error_peer_failed", "the peer died"));
  }

  /** What the peer had sent before its end is handed on first. */
  private void peerChanged(PeerEvent event) {
    gone[event.rank()] = event;
    Departure departure = new Departure(event.rank());
    departures.add(departure);
    departsSoon(departure);
  }

  /** What came just now is handed on in this turn; what is stored is known in the next. */
  private void departsSoon(Departure departure) {
    departure.left = Departure.UNKNOWN;
    home.execute(() -> departed(departure), () -> {});
  }

  private void departed(Departure departure) {
    Inbox from = inbox;
    departure.left = leftBehind() ? Departure.LEFT_BEHIND : from == null ? 0 : from.depth();
    if (departure.left == 0) {
      departures.remove(departure);
      lose(departure.rank);
    }
  }

  private boolean leftBehind() {
    Inbox from = inbox;
    return from != null && home.leftBehind(from) != 0;
  }

  /** At one message more. */
  private void lookedAt() {
    for (Iterator<Departure> all = departures.iterator(); all.hasNext(); ) {
      Departure departure = all.next();
      if (departure.left == Departure.LEFT_BEHIND) {
        if (!leftBehind()) {
          departsSoon(departure);
        }
      } else if (departure.left != Departure.UNKNOWN && --departure.left == 0) {
        all.remove();
        lose(departure.rank);
      }
    }
  }

  private void lose(int rank) {
    Link link = links[rank];
    PeerEvent event = gone[rank];
    if (link != null && event != null) {
      link.lost(lost(event));
    }
  }

  /**
   * The runtime closes, or something is wrong here: then peers are told, who see this rank alive.
   */
  private void closed(Throwable reason) {
    boolean faulty = !(reason instanceof LciClosedException);
    if (faulty) {
      LOG.error("rank {}: streams and RPC end", rank(), reason);
      ending = operation -> fault(operation, rank(), reason);
    } else {
      LOG.debug("rank {}: streams and RPC end", rank(), reason);
    }
    isClosed = true;
    for (Link link : links) {
      if (link != null) {
        link.fail(ending, Outcome.LOST);
        if (faulty) {
          link.farewell(
              WireError.of(
                  WireError.FAULT, "streams and RPC of rank " + rank() + " ended by a fault"));
        }
      }
    }
  }

  private static LciException fault(String operation, int rank, Throwable reason) {
    LciException error =
        new LciException(
            WireError.detail(
                operation,
                rank,
                WireError.FAULT,
                "streams and RPC of this rank ended: " + Thrown.text(reason)));
    error.initCause(reason);
    return error;
  }

  // Calls

  private <T> Exchange begin(Call<T> call, Tap<T> tap) {
    Link link = link(call.rank());
    Observed observed = functions.client(call, tap.context());
    String trace = observed == null ? null : observed.traceparent();
    byte[] traceBytes =
        trace == null ? new byte[0] : OutFrame.utf8(trace, io.lci.rpc.RpcExchange.MAX_TRACEPARENT);
    Exchange exchange =
        Exchange.mine(
            link,
            new OutFrame.Open(call.kind(), call.nameBytes(), traceBytes, call.awaitMillis()),
            call.name());
    exchange.receiver(tap);
    if (observed != null) {
      exchange.observed(observed);
    }
    Duration deadline = call.deadline();
    if (deadline != null) {
      try {
        exchange.timer(later(() -> expired(exchange, tap, deadline), deadline));
      } catch (RuntimeException e) { // it was disposed, or is the user's own
        LciException refused =
            TimerRefusal.of(
                (code, hint) -> WireError.detail(exchange.operation(), call.rank(), code, hint),
                timer(),
                e);
        exchange.fail(refused, Outcome.ERROR); // its observer hears of the end, too
        return exchange;
      }
    }
    Payload request = call.request();
    Publisher<? extends Payload> requests = call.requests();
    if (request != null) {
      exchange.<Payload>outbound().of(request, Functions.PAYLOADS);
    } else if (requests != null) {
      exchange.<Payload>outbound().from(requests, Functions.PAYLOADS, tap.context());
    }
    link.start(exchange);
    return exchange;
  }

  private static void expired(Exchange exchange, Tap<?> tap, Duration deadline) {
    if (exchange.isClosed()) {
      return;
    }
    String progress = exchange.progress();
    exchange.cancel(Outcome.DEADLINE);
    tap.error(
        new DeadlineExceededException(
            WireError.detail(
                exchange.operation(),
                exchange.link.peer(),
                "error_timeout",
                "the deadline of " + deadline + " passed; it was " + progress)));
  }

  private <T> void begin(Call<T> call, CoreSubscriber<? super T> actual) {
    if (isClosed) {
      Operators.error(actual, ending.apply("subscribe"));
    } else {
      Tap.<T>subscribe(home, call.decoder(), actual, tap -> begin(call, tap));
    }
  }

  private <T> Flux<T> flux(Call<T> call) {
    return new Flux<>() {
      @Override
      public void subscribe(CoreSubscriber<? super T> actual) {
        begin(call, actual);
      }
    };
  }

  private <T> Mono<T> mono(Call<T> call) {
    return new Mono<>() {
      @Override
      public void subscribe(CoreSubscriber<? super T> actual) {
        begin(call, actual);
      }
    };
  }

  private void checkRank(int rank) {
    if (rank < 0 || rank >= links.length) {
      throw new IllegalArgumentException("ranks are 0 to " + (links.length - 1) + ": " + rank);
    }
  }

  private Call<Message> call(
      int rank,
      Kind kind,
      String function,
      @Nullable Payload request,
      @Nullable Publisher<? extends Payload> requests,
      CallOptions options) {
    checkRank(rank);
    Objects.requireNonNull(options, "options");
    return new Call<>(
        rank,
        kind,
        function,
        Names.bytes(function, "function"),
        0,
        message -> message,
        request,
        requests,
        options.deadline());
  }

  private void refuseClosed(String operation) {
    if (isClosed) {
      throw ending.apply(operation);
    }
    home.refuseClosed(operation);
  }

  // Streams

  @Override
  public <T> Disposable publish(String name, Publisher<? extends T> source, Codec<T> codec) {
    Names.bytes(name, "name");
    Objects.requireNonNull(source, "source");
    Objects.requireNonNull(codec, "codec");
    refuseClosed("publish \"" + name + '"');
    return names.publish(name, source, codec);
  }

  @Override
  public <T> Flux<T> subscribe(int rank, String name, Codec<T> codec, SubscribeOptions options) {
    checkRank(rank);
    byte[] nameBytes = Names.bytes(name, "name");
    Objects.requireNonNull(codec, "codec");
    Objects.requireNonNull(options, "options");
    int await = (int) options.awaitPublisher().toMillis();
    return flux(
        new Call<>(rank, Kind.STREAM, name, nameBytes, await, codec::decode, null, null, null));
  }

  // RPC

  @Override
  public Disposable serve(String function, RpcHandler handler) {
    Names.bytes(function, "function");
    Objects.requireNonNull(handler, "handler");
    refuseClosed("serve \"" + function + '"');
    return functions.serve(function, handler);
  }

  @Override
  public Mono<Void> fireAndForget(int rank, String function, Payload request, CallOptions options) {
    Objects.requireNonNull(request, "request");
    return mono(call(rank, Kind.FORGET, function, request, null, options)).then();
  }

  @Override
  public Mono<Message> requestResponse(
      int rank, String function, Payload request, CallOptions options) {
    Objects.requireNonNull(request, "request");
    return mono(call(rank, Kind.RESPONSE, function, request, null, options));
  }

  @Override
  public Flux<Message> requestStream(
      int rank, String function, Payload request, CallOptions options) {
    Objects.requireNonNull(request, "request");
    return flux(call(rank, Kind.ANSWERS, function, request, null, options));
  }

  @Override
  public Flux<Message> requestChannel(
      int rank, String function, Publisher<? extends Payload> requests, CallOptions options) {
    Objects.requireNonNull(requests, "requests");
    return flux(call(rank, Kind.CHANNEL, function, null, requests, options));
  }
}
