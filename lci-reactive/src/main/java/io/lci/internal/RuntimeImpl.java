/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.LciLoop;
import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.LciSnapshot;
import io.lci.Op;
import io.lci.PeerEvent;
import io.lci.PostOptions;
import io.lci.am.Inbox;
import io.lci.am.InboxOptions;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.am.SendResult;
import io.lci.am.Sender;
import io.lci.am.SenderOptions;
import io.lci.completion.Completion;
import io.lci.completion.CompletionGraph;
import io.lci.completion.CompletionQueue;
import io.lci.completion.CompletionTarget;
import io.lci.completion.Counter;
import io.lci.completion.QueueOptions;
import io.lci.completion.Synchronizer;
import io.lci.error.LciException;
import io.lci.error.LciException.Detail;
import io.lci.error.ResourceExhaustedException;
import io.lci.internal.channel.Channels;
import io.lci.internal.channel.Home;
import io.lci.matching.EngineOptions;
import io.lci.matching.MatchingEngine;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.NativeCalls;
import io.lci.nativebridge.NativeMemory;
import io.lci.nativebridge.NativeScratch;
import io.lci.rma.LciBuffer;
import io.lci.rma.MemoryRegion;
import io.lci.rma.RemoteMemory;
import io.lci.rpc.Rpc;
import io.lci.stream.Streams;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/** A runtime: the native object, its loops, and what users opened. */
final class RuntimeImpl implements LciRuntime {
  private static final Logger LOG = LoggerFactory.getLogger(LciRuntime.class);

  final NativeCalls calls;
  final long handle;
  private final LciOptions options;
  private final CoreLog log;
  private final int rank;
  private final int size;
  private final int maxEager;
  final NativeMemory arena;
  private final List<String> counterNames;
  final Loops loops;
  private final PeerEvents peerEvents;
  private final Regions regions;
  private final Exchange exchange;
  final ReplyRooms replyRooms;
  final PeerArenas peerArenas;

  final Inboxes inboxes;
  final Posting posting;

  final CompletionObjects objects;

  private final AtomicReference<@Nullable Channels> channels = new AtomicReference<>();

  final CoreGate core;
  final Observer observer;
  final Shutdown shutdown;
  private final Disposable watchdog;
  private volatile @Nullable LciSnapshot last;

  RuntimeImpl(
      NativeCalls calls, io.lci.nativebridge.Layout layout, long handle, LciOptions options) {
    this(calls, layout, handle, options, new CoreLog(calls, handle));
  }

  RuntimeImpl(
      NativeCalls calls,
      io.lci.nativebridge.Layout layout,
      long handle,
      LciOptions options,
      CoreLog log) {
    this.calls = calls;
    this.handle = handle;
    this.core = new CoreGate(calls);
    this.observer = new Observer(options.instrumentation());
    this.options = options;
    this.log = log;
    this.rank = calls.runtimeRank(handle);
    this.size = calls.runtimeSize(handle);
    this.maxEager = calls.runtimeMaxEager(handle);
    NativeScratch out = new NativeScratch(2);
    Errors.check(
        calls,
        calls.runtimeArena(handle, out.address(0), out.address(1)),
        "map arena",
        LciException.NONE);
    this.arena = NativeMemory.wrap(out.getLong(0), out.getLong(1));
    this.counterNames = readCounterNames();
    this.regions = new Regions(this);
    this.replyRooms = new ReplyRooms(calls, handle);
    this.peerArenas = new PeerArenas(calls, handle, size);
    this.inboxes = new Inboxes(this);
    this.posting = new Posting(this);
    this.objects = new CompletionObjects(this);
    this.loops = Loops.open(this, layout);
    try {
      this.exchange = new Exchange(this);
      this.peerEvents = new PeerEvents(loop(0));
      this.shutdown =
          new Shutdown(
              loops.all(),
              options.invoker(),
              this::closeCore,
              () -> observer.tell(one -> one.runtimeClosed(this)));
      this.watchdog = LoopWatchdog.start(this); // before a loop can end
    } catch (Throwable e) {
      loops.free(); // the core does not close under a lane
      throw e;
    }
  }

  /**
   * Starts the threads of dedicated loops. If one cannot start, the loops that run are ended, then
   * the core, and nothing is left of the runtime.
   *
   * @param threads makes the thread of a loop
   * @throws ResourceExhaustedException if there is no room for another thread
   */
  void start(Function<? super EventLoop, ? extends Thread> threads) {
    if (!options.invoker()) {
      loops.start(threads, shutdown);
    }
    observer.tell(one -> one.runtimeStarted(this));
  }

  private List<String> readCounterNames() {
    int count = calls.runtimeSnapshot(handle, 0, 0);
    List<String> names = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      names.add(NativeMemory.string(calls.counterName(i)));
    }
    return names;
  }

  // For the package

  EventLoop loop(int index) {
    return loops.get(index);
  }

  Scheduler timer() {
    Scheduler timer = options.timer();
    return timer == null ? Schedulers.parallel() : timer;
  }

  void checkRank(int value) {
    if (value < 0 || value >= size) {
      throw new IllegalArgumentException("ranks are 0 to " + (size - 1) + ": " + value);
    }
  }

  /** Passes on what the core has to say. */
  void tellLog() {
    log.passOn();
  }

  /** A PEER record of a loop's lane. Every lane may get one; the event is told once, by loop 0. */
  void peerChanged(EventLoop from, PeerEvent event) {
    int code = event.state() == PeerEvent.State.LEFT ? Codes.ERR_PEER_LEFT : Codes.ERR_PEER_FAILED;
    failRank(from, event.rank(), code);
    if (from.index() != 0) {
      return;
    }
    for (EventLoop loop : loops.all()) {
      if (loop != from) {
        loop.execute(() -> failRank(loop, event.rank(), code));
      }
    }
    tell(event);
    peerEvents.add(event);
    observer.tell(one -> one.peerChanged(event));
  }

  /** A departure is news only to those who may wait for that rank's messages. */
  private void tell(PeerEvent event) {
    List<Port> waiting =
        inboxes.awaited().stream().filter(port -> !port.equals(Channels.PORT)).toList();
    String still = waiting.isEmpty() ? "" : "; still waiting for messages: " + waiting;
    if (event.state() == PeerEvent.State.FAILED) {
      LOG.warn("rank {}: rank {} died{}", rank, event.rank(), still);
    } else if (!waiting.isEmpty() && !shutdown.hasStarted()) {
      LOG.info("rank {}: rank {} left the job{}", rank, event.rank(), still);
    } else {
      LOG.debug("rank {}: rank {} left the job", rank, event.rank());
    }
  }

  /** The lowest rank whose death or departure the core knows, whichever the code means. */
  int firstGone(int code) {
    int wanted = code == Codes.ERR_PEER_LEFT ? Codes.PEER_LEFT : Codes.PEER_FAILED;
    NativeScratch state = new NativeScratch(1);
    for (int peer = 0; peer < size; peer++) {
      Errors.check(
          calls,
          calls.runtimePeer(handle, peer, state.address(0)),
          "look at peer",
          LciException.NONE);
      if (state.getInt(0) == wanted) {
        return peer;
      }
    }
    return LciException.NONE;
  }

  private static void failRank(EventLoop loop, int rank, int code) {
    Outbox outbox = loop.outbox();
    outbox.failParked(rank, code);
    outbox.slots.abandon(
        rank,
        owner ->
            Errors.of(
                new Detail(
                    "posted operation",
                    rank,
                    LciException.NONE,
                    loop.firstDevice(),
                    Errors.name(loop.lane().calls, code),
                    Errors.hint(code)),
                code));
  }

  // Public view

  @Override
  public int rank() {
    return rank;
  }

  @Override
  public int size() {
    return size;
  }

  @Override
  public LciOptions options() {
    return options;
  }

  @Override
  public List<LciLoop> loops() {
    return List.copyOf(loops.all());
  }

  @Override
  public int maxEager() {
    return maxEager;
  }

  @Override
  public Mono<Void> barrier() {
    return new MonoOp<>(loop(0), Op.barrier(), OpRun.Result.NOTHING);
  }

  @Override
  public Inbox inbox(Port port) {
    return inbox(port, InboxOptions.defaults());
  }

  @Override
  public Inbox inbox(Port port, InboxOptions inboxOptions) {
    return inboxes.open(port, inboxOptions);
  }

  @Override
  public Sender sender(Port port) {
    return sender(port, SenderOptions.defaults());
  }

  @Override
  public Sender sender(Port port, SenderOptions senderOptions) {
    return posting.sender(port, senderOptions);
  }

  @Override
  public Mono<Completion> post(Op op) {
    return Signals.on(op.signalOn(), posting.one(op, OpRun.Result.COMPLETION));
  }

  @Override
  public Flux<SendResult<Op>> post(Publisher<? extends Op> ops, PostOptions postOptions) {
    return post(ops, op -> op, postOptions);
  }

  @Override
  public <T> Flux<SendResult<T>> post(
      Publisher<? extends T> items, Function<? super T, Op> operation, PostOptions postOptions) {
    return posting.each(items, operation, postOptions);
  }

  @Override
  public Mono<Void> send(int to, long tag, Payload payload) {
    return posting.one(Op.send(to, tag, payload), OpRun.Result.NOTHING);
  }

  @Override
  public Mono<Message> receive(int from, long tag) {
    return receive(from, tag, maxEager);
  }

  @Override
  public Mono<Message> receive(int from, long tag, int maxBytes) {
    return posting.one(Op.receive(from, tag, maxBytes), OpRun.Result.MESSAGE);
  }

  @Override
  public Synchronizer synchronizer(int threshold) {
    return objects.synchronizer(threshold);
  }

  @Override
  public Counter counter() {
    return objects.counter();
  }

  @Override
  public CompletionQueue queue(QueueOptions queueOptions) {
    return objects.queue(queueOptions);
  }

  @Override
  public MatchingEngine engine(int number, EngineOptions engineOptions) {
    if (number < 1 || number > MatchingEngine.MAX_NUMBER) {
      throw new IllegalArgumentException(
          "engines have numbers 1 to " + MatchingEngine.MAX_NUMBER + ": " + number);
    }
    shutdown.refuse("create engine");
    return EngineImpl.create(this, number, engineOptions);
  }

  @Override
  public CompletionGraph.Builder graph() {
    shutdown.refuse("build graph");
    return new GraphBuilder(this);
  }

  @Override
  public Disposable bind(Port port, CompletionTarget target) {
    return objects.bind(port, target);
  }

  @Override
  public MemoryRegion allocate(long bytes) {
    return regions.allocate(bytes);
  }

  @Override
  public MemoryRegion register(ByteBuffer direct) {
    return regions.register(direct);
  }

  @Override
  public RemoteMemory remote(int owner, byte[] bytes) {
    return regions.open(owner, bytes);
  }

  @Override
  public Mono<byte[][]> exchange(byte[] mine) {
    if (mine.length > MAX_EXCHANGE) {
      throw new IllegalArgumentException(
          "at most " + MAX_EXCHANGE + " bytes are exchanged: " + mine.length);
    }
    return exchange.of(mine);
  }

  @Override
  public Mono<List<RemoteMemory>> exchange(MemoryRegion mine) {
    return exchange(mine.handle())
        .map(
            handles ->
                IntStream.range(0, size).mapToObj(owner -> remote(owner, handles[owner])).toList());
  }

  @Override
  public LciBuffer buffer(int bytes) {
    return new UserBuffer(bytes);
  }

  @Override
  public Streams streams() {
    return channels();
  }

  @Override
  public Rpc rpc() {
    return channels();
  }

  /**
   * Opens them at the first call. No lock: opening waits for the loop, which may call this, too.
   */
  private Channels channels() {
    Channels found = channels.get();
    if (found != null) {
      return found;
    }
    shutdown.refuse("open streams");
    Channels made = new Channels(this, home(loop(0)));
    if (!channels.compareAndSet(null, made)) {
      return channels();
    }
    try {
      made.open();
    } catch (RuntimeException e) {
      channels.set(null);
      throw e;
    }
    return made;
  }

  private static Home home(EventLoop loop) {
    return new Home() {
      @Override
      public boolean inLoop() {
        return loop.inLoop();
      }

      @Override
      public void execute(Runnable task, Runnable rejected) {
        loop.execute(
            new LoopTask() {
              @Override
              public void run() {
                task.run();
              }

              @Override
              public void rejected() {
                rejected.run();
              }
            });
      }
    };
  }

  @Override
  public Flux<PeerEvent> peerEvents() {
    return peerEvents;
  }

  @Override
  public Mono<PeerEvent> peerGone(int peer) {
    checkRank(peer);
    return peerEvents.filter(event -> event.rank() == peer).next();
  }

  // Snapshot

  @Override
  public LciSnapshot snapshot() {
    return core.get(
        () -> {
          LciSnapshot final_ = last;
          return final_ != null ? final_ : takeSnapshot();
        });
  }

  private LciSnapshot takeSnapshot() {
    Map<String, Long> all = countersOf((int) Codes.NO_DEVICE);
    List<Map<String, Long>> devices = new ArrayList<>();
    List<LciSnapshot.WaitingState> waiting = new ArrayList<>();
    for (int device = 0; device < options.devices(); device++) {
      Map<String, Long> own = countersOf(device);
      EventLoop loop = loops.of(device);
      if (device == loop.firstDevice()) {
        loop.outbox().addWaiting(waiting);
        loop.count(own);
      }
      own.forEach((name, value) -> all.merge(name, value, Long::sum));
      devices.add(own);
    }
    Channels.count(channels.get(), all);
    List<LciSnapshot.InboxState> states = inboxes.states();
    return new LciSnapshot(
        all,
        devices,
        states,
        waiting,
        all.getOrDefault("packets_free", 0L),
        all.getOrDefault("packets_capacity", 0L));
  }

  private Map<String, Long> countersOf(int device) {
    int count = counterNames.size();
    NativeScratch values = new NativeScratch(Math.max(1, count));
    calls.runtimeSnapshotPart(handle, device, values.address(0), count);
    Map<String, Long> named = new LinkedHashMap<>();
    for (int i = 0; i < count; i++) {
      named.put(counterNames.get(i), values.getLong(i));
    }
    return named;
  }

  // Closing

  /** The loop is about to end: what lives on it ends now. */
  void loopEnding(EventLoop loop) {
    if (loop.index() == 0) {
      peerEvents.complete();
    }
  }

  /** Called once, when no loop is left: the last look at the counters, then the end of the core. */
  private @Nullable Throwable closeCore(int timeoutMillis) {
    watchdog.dispose();
    int code =
        core.close(
            () -> {
              last = takeSnapshot();
              return calls.runtimeClose(handle, timeoutMillis);
            });
    log.close();
    return Codes.isError(code)
        ? Errors.of(
            Detail.of("close", Errors.name(calls, code), NativeMemory.string(calls.lastError())),
            code)
        : null;
  }

  @Override
  public Mono<Void> onClose() {
    return shutdown.onClose();
  }

  @Override
  public Mono<Void> disposeGracefully(Duration limit) {
    return Mono.defer(
        () -> {
          shutdown.start(limit);
          return shutdown.onClose();
        });
  }

  @Override
  public void dispose() {
    shutdown.start(Duration.ZERO);
  }

  @Override
  public boolean isDisposed() {
    return shutdown.isOver();
  }

  @Override
  public void close() {
    shutdown.close(options.closeTimeout());
  }

  @Override
  public String toString() {
    return "LciRuntime[rank " + rank + " of " + size + ']';
  }
}
