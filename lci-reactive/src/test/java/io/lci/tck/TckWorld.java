/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.tck;

import io.lci.Codec;
import io.lci.LciInstrumentation;
import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.LciSnapshot;
import io.lci.am.Inbox;
import io.lci.am.InboxOptions;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.am.Sender;
import io.lci.collective.GroupStreams;
import io.lci.collective.ReduceOp;
import io.lci.collective.Sourced;
import io.lci.collective.Vec;
import io.lci.rma.LciBuffer;
import io.lci.rma.MemoryRegion;
import io.lci.rma.RemoteMemory;
import io.lci.rpc.Rpc;
import io.lci.rpc.RpcHandler;
import io.lci.stream.Streams;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * What publishers are made of: two ranks that talk, a rank alone, a runtime that is closed, and one
 * whose peers have left.
 */
final class TckWorld implements AutoCloseable {
  static final Duration LIMIT = Duration.ofSeconds(60);

  /** A function of rank 1: as many numbers as the request says, or what a channel brings. */
  static final String FUNCTION = "numbers";

  private static final String HELD = "held";
  private static final int PEERS = 3;

  /** Most subscribers of a publisher under any rule, and more. */
  private static final int FOLLOWED = 10;

  private static final Port SINK = Port.of(1, "sink");
  private static final int REGION = 64;

  private final LciTestJob pair;
  private final LciTestJob alone;
  private final LciTestJob left;
  private final LciRuntime closed;
  private final Sender closedSender;
  private final Streams closedStreams;
  private final GroupStreams closedGroup;
  private final Rpc closedRpc;
  private final RemoteMemory closedRemote;
  private final MemoryRegion closedRegion;
  private final LciBuffer closedBuffer;
  private final Disposable sink;
  private final MemoryRegion region;
  private final MemoryRegion own;
  private final LciOptions connecting;
  private final RemoteMemory remote;
  private final AtomicInteger ports = new AtomicInteger(1);
  private final AtomicInteger streams = new AtomicInteger();
  private final AtomicInteger contexts = new AtomicInteger();

  /** Requests of channels whose handler does not take them itself. */
  private final BlockingQueue<Flux<Message>> held = new LinkedBlockingQueue<>();

  /** Runtimes that connected: the rules give nobody the elements. */
  private final Queue<LciRuntime> connected = new ConcurrentLinkedQueue<>();

  private Disposable.Composite used = Disposables.composite();

  /**
   * @param chaos the plan, or empty
   */
  TckWorld(String chaos) {
    LciOptions.Builder builder = LciOptions.builder().stallWarning(Duration.ZERO); // on purpose
    LciOptions options =
        chaos.isEmpty() ? builder.build() : builder.attribute("chaos", chaos).build();
    pair = LciTestJob.start(2, options);
    alone = LciTestJob.start(1, options);
    left = LciTestJob.start(1 + PEERS, options);
    left.ranks().subList(1, left.size()).forEach(LciRuntime::close);
    left.rank(0).peerEvents().take(PEERS).blockLast(LIMIT);
    LciTestJob over = LciTestJob.start(1, options);
    closed = over.rank(0);
    closedSender = closed.sender(SINK);
    closedStreams = closed.streams();
    closedGroup = closed.world().streams();
    closedRpc = closed.rpc();
    closedRegion = closed.memory().allocate(REGION);
    closedRemote = closed.memory().remote(0, closedRegion.handle());
    closedBuffer = closed.memory().buffer(Long.BYTES);
    over.close();
    sink = pair.rank(1).inbox(SINK).handle(m -> {});
    region = pair.rank(1).memory().allocate(REGION);
    remote = here().memory().remote(1, region.handle());
    own = alone().memory().allocate(REGION);
    connecting =
        options
            .mutate()
            .instrumentation(
                new LciInstrumentation() {
                  @Override
                  public void runtimeStarted(LciRuntime runtime) {
                    connected.add(runtime);
                  }
                })
            .build();
    pair.rank(1).rpc().serve(FUNCTION, new Numbers());
    pair.rank(1).rpc().serve(HELD, RpcHandler.channel(this::hold));
  }

  private Publisher<Payload> hold(Flux<Message> requests) {
    held.add(requests);
    return Flux.never();
  }

  /** Answers in every way. */
  private static final class Numbers implements RpcHandler {
    @Override
    public Mono<Void> fireAndForget(Message request) {
      return Mono.empty();
    }

    @Override
    public Mono<Payload> requestResponse(Message request) {
      return Mono.just(Payload.ofLong(request.getLong(0)));
    }

    @Override
    public Flux<Payload> requestStream(Message request) {
      int count = (int) Math.min(request.getLong(0), Integer.MAX_VALUE);
      return Flux.range(0, count).map(n -> Payload.ofLong(n));
    }

    @Override
    public Flux<Payload> requestChannel(int rank, Flux<Message> requests) {
      return requests.map(m -> Payload.ofLong(m.getLong(0)));
    }
  }

  LciRuntime here() {
    return pair.rank(0);
  }

  LciRuntime alone() {
    return alone.rank(0);
  }

  /** Its {@link #peers()} have left. */
  LciRuntime left() {
    return left.rank(0);
  }

  int peers() {
    return PEERS;
  }

  LciRuntime closed() {
    return closed;
  }

  Sender closedSender() {
    return closedSender;
  }

  Streams closedStreams() {
    return closedStreams;
  }

  Rpc closedRpc() {
    return closedRpc;
  }

  /** Memory of a runtime that is closed. */
  RemoteMemory closedRemote() {
    return closedRemote;
  }

  /** A region that went with its runtime. */
  MemoryRegion closedRegion() {
    return closedRegion;
  }

  /** A buffer of a runtime that is closed. */
  LciBuffer closedBuffer() {
    return closedBuffer;
  }

  /** Streams of a runtime that is closed. */
  GroupStreams closedGroup() {
    return closedGroup;
  }

  GroupStreams aloneStreams() {
    return alone().world().streams();
  }

  /** What this member gets of a shuffle whose other member has the items. */
  Flux<Integer> shuffled(Publisher<Integer> source) {
    return followed(streams -> streams.shuffle(source, item -> 0, Codec.INT))
        .shuffle(Flux.<Integer>empty(), item -> 0, Codec.INT);
  }

  /** The same, gathered here. */
  Flux<Sourced<Integer>> gathered(Publisher<Integer> source) {
    return followed(streams -> streams.gather(0, source, Codec.INT))
        .gather(0, Flux.<Integer>empty(), Codec.INT);
  }

  /** What another member sends to all, and does not take itself. */
  Flux<Integer> broadcast(Publisher<Integer> source) {
    return followed(
            streams -> streams.broadcast(1, source, Codec.INT).doOnSubscribe(TckWorld::leave))
        .broadcast(1, null, Codec.INT);
  }

  /** Chunks of two members, equal ones. */
  Flux<Vec> reduced(Flux<Vec> chunks) {
    return followed(streams -> streams.allReduce(chunks, ReduceOp.SUM))
        .allReduce(chunks, ReduceOp.SUM);
  }

  private static void leave(Subscription begun) {
    begun.request(1);
    begun.cancel();
  }

  /** Streams of a context of their own here, of which rank 1 has begun as many as a rule takes. */
  private GroupStreams followed(Function<GroupStreams, Flux<?>> stream) {
    int context = contexts.incrementAndGet();
    GroupStreams there = pair.rank(1).world().context(context).streams();
    for (int i = 0; i < FOLLOWED; i++) {
      use(stream.apply(there).subscribe(item -> {}, error -> {}));
    }
    return here().world().context(context).streams();
  }

  /** A stream of rank 1, from here. */
  Flux<Integer> subscribed(Publisher<Integer> source) {
    String name = "stream " + streams.incrementAndGet();
    use(pair.rank(1).streams().publish(name, source, Codec.INT));
    return here().streams().subscribe(1, name, Codec.INT);
  }

  /** What comes here of the answers of a handler of rank 1. */
  Flux<Message> answered(Publisher<Payload> answers) {
    String name = "function " + streams.incrementAndGet();
    use(pair.rank(1).rpc().serve(name, RpcHandler.channel(requests -> answers)));
    return here().rpc().requestChannel(1, name, Flux.never());
  }

  /** What a handler of rank 1 gets of a channel that is opened here. */
  Flux<Message> requests(Publisher<Payload> source) {
    use(here().rpc().requestChannel(1, HELD, source).subscribe(answer -> {}, error -> {}));
    try {
      return Objects.requireNonNull(held.poll(LIMIT.toSeconds(), TimeUnit.SECONDS), "no call came");
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** A port of rank 1 that takes everything. */
  Port sink() {
    return SINK;
  }

  /** Memory of rank 1. */
  RemoteMemory remote() {
    return remote;
  }

  /** An inbox to which a sender of rank 1 sends without end. */
  Inbox fed() {
    Inbox inbox = inbox();
    use(
        pair.rank(1)
            .sender(inbox.port())
            .sendAll(0, Flux.range(0, Integer.MAX_VALUE), (n, out) -> out.putLong(n))
            .subscribe(v -> {}, e -> {})); // the inbox closes before it
    return inbox;
  }

  private Inbox inbox() {
    int port = ports.incrementAndGet();
    InboxOptions options = InboxOptions.builder().messages(64).maxRetained(1 << 16).build();
    return use(here().inbox(Port.of(port, "tck" + port), options));
  }

  /** An inbox that is closed. */
  Inbox disposed() {
    Inbox inbox = inbox();
    inbox.dispose();
    inbox.onClose().block(LIMIT);
    return inbox;
  }

  /** A region of the rank alone. */
  MemoryRegion own() {
    return own;
  }

  /** Options of a runtime that is closed when the row was run, if nobody did before. */
  LciOptions connecting() {
    return connecting;
  }

  /** Disposes of it when the row was run: its end must not meet the next rule. */
  <T extends Disposable> T use(T resource) {
    used.add(resource);
    return resource;
  }

  /** After each row. */
  void clean() {
    used.dispose();
    used = Disposables.composite();
    for (LciRuntime runtime = connected.poll(); runtime != null; runtime = connected.poll()) {
      runtime.close();
    }
  }

  /** Closes everything and looks at the ledgers; what is lent is nobody's fault here. */
  List<String> faults() {
    close();
    List<String> faults = new ArrayList<>();
    for (LciTestJob job : List.of(pair, alone, left)) {
      for (LciRuntime rank : job.ranks()) {
        LciSnapshot snapshot = rank.snapshot();
        LciLeakCheck.faultsOf(rank.toString(), snapshot).stream()
            .filter(fault -> !fault.contains("loop_leased")) // nobody releases under these rules
            .forEach(faults::add);
      }
    }
    return faults;
  }

  @Override
  public void close() {
    clean();
    sink.dispose();
    remote.dispose();
    pair.close();
    alone.close();
    left.close();
  }
}
