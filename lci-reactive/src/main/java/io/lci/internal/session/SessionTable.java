/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import io.lci.LciRuntime;
import io.lci.PeerEvent;
import io.lci.am.Inbox;
import io.lci.am.MessageView;
import io.lci.am.Sender;
import io.lci.am.SenderOptions;
import io.lci.error.LciClosedException;
import io.lci.error.LciException;
import io.lci.error.PeerFailedException;
import io.lci.error.PeerLeftException;
import io.lci.error.PortClosedException;
import io.lci.internal.core.Nanos;
import io.lci.internal.core.ReservedPorts;
import io.lci.internal.core.Thrown;
import io.lci.internal.loop.TimerRefusal;
import io.lci.rpc.RpcExchange.Outcome;
import io.lci.stream.StreamLimits;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.Disposable;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/** The sessions of a runtime with its peers: how each begins and ends, and what they share. */
final class SessionTable {
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
  private final SessionCounters counters = new SessionCounters();

  /** Written by the loop. */
  private volatile boolean isClosed;

  /** What calls end with when it is closed. Written before that. */
  private volatile Function<String, RuntimeException> ending;

  // Loop only
  private final @Nullable Session[] sessions;
  private final Departures departures;

  /** Any thread; {@link #open()} follows. */
  SessionTable(LciRuntime runtime, Home home) {
    this.runtime = runtime;
    this.home = home;
    this.ending = home::closed;
    this.sender =
        runtime.sender(
            ReservedPorts.SESSIONS, SenderOptions.builder().window(SENDER_WINDOW).build());
    this.sessions = new Session[runtime.size()];
    this.departures = new Departures(home, runtime.size(), this::lose);
    this.functions = new Functions(runtime.options().instrumentation());
    this.names = new Names(this);
  }

  /** Opens the port: from now on peers can talk to this rank. */
  void open() {
    Inbox opened = runtime.inbox(ReservedPorts.SESSIONS);
    home.execute(() -> departures.inbox(opened), () -> {});
    opened
        .receive(
            view -> {
              message(view);
              return Boolean.TRUE;
            })
        .subscribe(taken -> {}, this::closed, () -> closed(home.closed("receive")));
    runtime.peerEvents().subscribe(departures::peerChanged);
  }

  // What sessions and calls share

  Functions functions() {
    return functions;
  }

  Names names() {
    return names;
  }

  /** Whether no call can begin any more. Any thread. */
  boolean isClosed() {
    return isClosed;
  }

  /** What a call ends with that came too late. */
  RuntimeException ended(String operation) {
    return ending.apply(operation);
  }

  Home home() {
    return home;
  }

  int rank() {
    return runtime.rank();
  }

  StreamLimits limits() {
    return runtime.options().streamLimits();
  }

  SessionCounters counters() {
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
    session(from).message(view);
    departures.lookedAt();
  }

  Session session(int rank) {
    Session found = sessions[rank];
    if (found != null) {
      return found;
    }
    int frame = Math.max(LEAST_FRAME, Math.min(MOST_FRAME, runtime.maxEager()));
    Session made = new Session(this, rank, frame - InFrame.HEADER);
    sessions[rank] = made;
    PeerEvent event = departures.lost(rank);
    if (isClosed) {
      made.fail(ending, Outcome.LOST);
    } else if (event != null) {
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
  private void wireFailed(Session session, Throwable error) {
    if (error instanceof PeerFailedException
        || error instanceof PeerLeftException
        || error instanceof PortClosedException) { // it closes its ports just before it leaves
      return; // its event ends the session, when what it had sent was handed on
    }
    session.fail(
        operation -> {
          if (error instanceof LciClosedException) {
            return home.closed(operation);
          }
          return error instanceof RuntimeException e ? e : new IllegalStateException(error);
        },
        Outcome.LOST);
    if (error instanceof LciException known && !(error instanceof LciClosedException)) {
      // Or the peer would wait for what does not come any more. If that fails, too, so be it
      session.farewell(WireError.of(known.code(), known.hint()));
      sender
          .sendAll(session.peer(), session.frames(), OutFrame.ENCODER)
          .subscribe(null, again -> LOG.warn("{} could not be told of its end", session, again));
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

  private void lose(PeerEvent event) {
    Session session = sessions[event.rank()];
    if (session != null) {
      session.lost(lost(event));
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
    for (Session session : sessions) {
      if (session != null) {
        session.fail(ending, Outcome.LOST);
        if (faulty) {
          session.farewell(
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
}
