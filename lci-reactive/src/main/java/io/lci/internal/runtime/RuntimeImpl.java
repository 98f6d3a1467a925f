/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.runtime;

import io.lci.LciLoop;
import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.LciSnapshot;
import io.lci.Op;
import io.lci.PeerEvent;
import io.lci.PostOptions;
import io.lci.PostResult;
import io.lci.am.Inbox;
import io.lci.am.InboxOptions;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.am.Sender;
import io.lci.am.SenderOptions;
import io.lci.completion.Completion;
import io.lci.completion.CompletionGraph;
import io.lci.completion.CompletionQueue;
import io.lci.completion.CompletionTarget;
import io.lci.completion.Counter;
import io.lci.completion.QueueOptions;
import io.lci.completion.Synchronizer;
import io.lci.error.LciException.Detail;
import io.lci.error.ResourceExhaustedException;
import io.lci.internal.completion.CompletionObjects;
import io.lci.internal.completion.GraphBuilder;
import io.lci.internal.core.CoreLog;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.core.Errors;
import io.lci.internal.inbox.Inboxes;
import io.lci.internal.lane.UserBuffer;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.LoopHost;
import io.lci.internal.loop.LoopWatchdog;
import io.lci.internal.loop.Signals;
import io.lci.internal.memory.Regions;
import io.lci.internal.post.EngineImpl;
import io.lci.internal.post.MonoOp;
import io.lci.internal.post.OpCheck;
import io.lci.internal.post.OpResult;
import io.lci.internal.post.Outbox;
import io.lci.internal.post.Posting;
import io.lci.matching.EngineOptions;
import io.lci.matching.MatchingEngine;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.Layout;
import io.lci.nativebridge.NativeCalls;
import io.lci.nativebridge.NativeMemory;
import io.lci.rma.LciBuffer;
import io.lci.rma.MemoryRegion;
import io.lci.rma.RemoteMemory;
import io.lci.rpc.Rpc;
import io.lci.stream.Streams;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * A runtime: puts its parts together, in an order in which each finds what it needs, and hands
 * every call to the part that owns what the call is about. The parts ask each other by these
 * fields. Any thread.
 */
public final class RuntimeImpl implements LciRuntime {
  public final CoreRuntime core;
  private final CoreLog log;

  // What users opened, and what they post
  public final Inboxes inboxes;
  public final CompletionObjects objects;
  final LazySessions sessions;
  public final Regions regions;
  private final OpCheck check;
  private final Posting posting;
  private final Exchange exchange;

  // What runs, who is told, and the end
  public final Loops loops;
  private final Peers peers;
  private final Shutdown shutdown;
  private final Snapshots snapshots;
  private final Disposable watchdog;

  public RuntimeImpl(NativeCalls calls, Layout layout, long handle, LciOptions options) {
    this(calls, layout, handle, options, new CoreLog(calls, handle));
  }

  public RuntimeImpl(
      NativeCalls calls, Layout layout, long handle, LciOptions options, CoreLog log) {
    this.log = log;
    this.core = new CoreRuntime(calls, layout, handle, options);
    this.snapshots = new Snapshots(this);
    this.check = new OpCheck(core);
    this.loops = Loops.open(core, new Host(), check);
    try {
      Outbox first = loops.outboxes.get(0);
      this.inboxes = new Inboxes(core, loops.inboxes);
      this.objects = new CompletionObjects(core, loops.all, loops.dispatcher);
      this.posting = new Posting(core, check, loops.outboxes);
      this.sessions = new LazySessions(this, first.loop);
      this.regions = new Regions(core, first);
      this.exchange = new Exchange(core, first, regions);
      this.peers = new Peers(core, inboxes, loops.outboxes);
      this.shutdown =
          new Shutdown(
              loops.all.all(),
              core.ending,
              options.invoker(),
              options.timer(),
              this::closeCore,
              () -> core.observer.tell(one -> one.runtimeClosed(this)));
      this.watchdog = LoopWatchdog.start(core, loops.all.all()); // before a loop can end
    } catch (Throwable e) {
      loops.free(); // the core does not close under a lane
      throw e;
    }
  }

  /** What the loops tell: they run only when all parts are there. */
  private final class Host implements LoopHost {
    @Override
    public void lookAtObjects() {
      objects.look();
    }

    @Override
    public void tidy() {
      log.passOn();
      objects.freeUnused();
    }

    @Override
    public void peerChanged(EventLoop loop, PeerEvent event) {
      peers.changed(loop, event);
    }

    @Override
    public void loopEnding(EventLoop loop) {
      peers.loopEnding(loop);
    }

    @Override
    public void loopEnded() {
      shutdown.loopEnded();
    }

    @Override
    public void loopFailed(Throwable reason) {
      shutdown.failed(reason);
    }

    @Override
    public void dispose() {
      RuntimeImpl.this.dispose();
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
    if (!core.options.invoker()) {
      loops.start(threads, shutdown);
    }
    core.observer.tell(one -> one.runtimeStarted(this));
  }

  // Public view

  @Override
  public int rank() {
    return core.rank;
  }

  @Override
  public int size() {
    return core.size;
  }

  @Override
  public LciOptions options() {
    return core.options;
  }

  @Override
  public List<LciLoop> loops() {
    return List.copyOf(loops.all.all());
  }

  @Override
  public int maxEager() {
    return core.maxEager;
  }

  @Override
  public Mono<Void> barrier() {
    return new MonoOp<>(loops.outboxes.get(0), Op.barrier(), OpResult.NOTHING);
  }

  @Override
  public Inbox inbox(Port port) {
    return inbox(port, InboxOptions.defaults());
  }

  @Override
  public Inbox inbox(Port port, InboxOptions inboxOptions) {
    return inboxes.open(port, Objects.requireNonNull(inboxOptions, "options"));
  }

  @Override
  public Sender sender(Port port) {
    return sender(port, SenderOptions.defaults());
  }

  @Override
  public Sender sender(Port port, SenderOptions senderOptions) {
    return posting.sender(port, Objects.requireNonNull(senderOptions, "options"));
  }

  @Override
  public Mono<Completion> post(Op op) {
    Objects.requireNonNull(op, "op");
    return Signals.on(op.signalOn(), posting.one(op, OpResult.COMPLETION));
  }

  @Override
  public Flux<PostResult<Op>> post(Publisher<? extends Op> ops, PostOptions postOptions) {
    return post(Objects.requireNonNull(ops, "ops"), op -> op, postOptions);
  }

  @Override
  public <T> Flux<PostResult<T>> post(
      Publisher<? extends T> items, Function<? super T, Op> operation, PostOptions postOptions) {
    return posting.each(items, operation, postOptions);
  }

  @Override
  public Mono<Void> send(int to, long tag, Payload payload) {
    return posting.one(Op.send(to, tag, payload), OpResult.NOTHING);
  }

  @Override
  public Mono<Message> receive(int from, long tag) {
    return receive(from, tag, core.options.maxReceiveBytes());
  }

  @Override
  public Mono<Message> receive(int from, long tag, int maxBytes) {
    return posting.one(Op.receive(from, tag, maxBytes), OpResult.MESSAGE);
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
    return objects.queue(Objects.requireNonNull(queueOptions, "options"));
  }

  @Override
  public MatchingEngine engine(int number, EngineOptions engineOptions) {
    Objects.requireNonNull(engineOptions, "options");
    if (number < 1 || number > MatchingEngine.MAX_NUMBER) {
      throw new IllegalArgumentException(
          "engines have numbers 1 to " + MatchingEngine.MAX_NUMBER + ": " + number);
    }
    core.ending.refuse("create engine");
    return EngineImpl.create(core, number, engineOptions);
  }

  @Override
  public CompletionGraph.Builder graph() {
    core.ending.refuse("build graph");
    return new GraphBuilder(core, loops.outboxes.get(0), loops.dispatcher, check);
  }

  @Override
  public Disposable bind(Port port, CompletionTarget target) {
    return objects.bind(
        Objects.requireNonNull(port, "port"), Objects.requireNonNull(target, "target"));
  }

  @Override
  public MemoryRegion allocate(long bytes) {
    return regions.allocate(bytes);
  }

  @Override
  public MemoryRegion register(ByteBuffer direct) {
    return regions.register(Objects.requireNonNull(direct, "direct"));
  }

  @Override
  public RemoteMemory remote(int owner, byte[] bytes) {
    return regions.open(owner, Objects.requireNonNull(bytes, "handle"));
  }

  @Override
  public Mono<byte[][]> exchange(byte[] mine) {
    return exchange.of(Objects.requireNonNull(mine, "mine"));
  }

  @Override
  public Mono<List<RemoteMemory>> exchange(MemoryRegion mine) {
    return exchange.of(Objects.requireNonNull(mine, "mine"));
  }

  @Override
  public LciBuffer buffer(int bytes) {
    return new UserBuffer(core.identity, bytes);
  }

  @Override
  public Streams streams() {
    return sessions.get();
  }

  @Override
  public Rpc rpc() {
    return sessions.get();
  }

  @Override
  public Flux<PeerEvent> peerEvents() {
    return peers.events();
  }

  @Override
  public Mono<PeerEvent> peerGone(int peer) {
    return peers.gone(peer);
  }

  @Override
  public LciSnapshot snapshot() {
    return snapshots.take();
  }

  // Closing

  /** Called once, when no loop is left: the last look at the counters, then the end of the core. */
  private @Nullable Throwable closeCore(int timeoutMillis) {
    RuntimeException thrown = null;
    try {
      watchdog.dispose();
    } catch (RuntimeException e) { // the timer may be the user's own
      thrown = e;
    }
    int code =
        core.gate.close(
            () -> {
              snapshots.takeLast();
              return core.calls.runtimeClose(core.handle, timeoutMillis);
            });
    regions.closed();
    log.close();
    return Codes.isError(code)
        ? Errors.of(
            Detail.of(
                "close",
                Errors.name(core.calls, code),
                NativeMemory.string(core.calls.lastError())),
            code)
        : thrown;
  }

  @Override
  public Mono<Void> onClose() {
    return shutdown.onClose();
  }

  @Override
  public Mono<Void> disposeGracefully(Duration limit) {
    Objects.requireNonNull(limit, "limit");
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
    shutdown.close(core.options.closeTimeout());
  }

  @Override
  public String toString() {
    return "LciRuntime[rank " + core.rank + " of " + core.size + ']';
  }
}
