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
import io.lci.am.Port;
import io.lci.am.Sender;
import io.lci.am.SenderOptions;
import io.lci.collective.World;
import io.lci.completion.Completion;
import io.lci.completion.Completions;
import io.lci.error.ResourceExhaustedException;
import io.lci.internal.collective.WorldImpl;
import io.lci.internal.completion.CompletionObjects;
import io.lci.internal.completion.CompletionsImpl;
import io.lci.internal.core.CoreLog;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.groupstream.GroupStreamRoom;
import io.lci.internal.inbox.Inboxes;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.LoopWatchdog;
import io.lci.internal.loop.Signals;
import io.lci.internal.memory.MemoryImpl;
import io.lci.internal.memory.Regions;
import io.lci.internal.post.Fences;
import io.lci.internal.post.MonoOp;
import io.lci.internal.post.OpCheck;
import io.lci.internal.post.OpResult;
import io.lci.internal.post.Outbox;
import io.lci.internal.post.Posting;
import io.lci.internal.post.TaggedImpl;
import io.lci.matching.Tagged;
import io.lci.nativebridge.Layout;
import io.lci.nativebridge.NativeCalls;
import io.lci.rma.Memory;
import io.lci.rpc.Rpc;
import io.lci.stream.Streams;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * A runtime: puts its parts together, in an order in which each finds what it needs, and hands
 * every call to the part that owns what the call is about. The parts of this room ask each other by
 * these fields. Any thread.
 */
public final class RuntimeImpl implements LciRuntime {
  public final CoreRuntime core;
  final CoreLog log;

  // Opened by users
  public final Inboxes inboxes;
  public final CompletionObjects objects;
  final LazySessions sessions;
  public final Regions regions;
  private final Posting posting;

  // The rooms
  private final Tagged tagged;
  private final Memory memory;
  private final Completions completions;
  private final WorldImpl world;
  private final Fences fences;

  // The loops, the peers, and the end
  public final Loops loops;
  final Peers peers;
  final Shutdown shutdown;
  final Snapshots snapshots;

  /** Makes the thread of a dedicated loop; null: there are invokers. */
  private volatile @Nullable Function<? super EventLoop, ? extends Thread> threads;

  public RuntimeImpl(NativeCalls calls, Layout layout, long handle, LciOptions options) {
    this(calls, layout, handle, options, new CoreLog(calls, handle));
  }

  public RuntimeImpl(
      NativeCalls calls, Layout layout, long handle, LciOptions options, CoreLog log) {
    this.log = log;
    this.core = new CoreRuntime(calls, layout, handle, options);
    this.snapshots = new Snapshots(this);
    OpCheck check = new OpCheck(core);
    this.loops = Loops.open(core, new RuntimeHost(this), check);
    try {
      Outbox first = loops.outboxes.get(0);
      this.inboxes = new Inboxes(core, loops.inboxes);
      this.objects = new CompletionObjects(core, loops.all, loops.dispatcher);
      this.posting = new Posting(core, check, loops.outboxes);
      this.sessions = new LazySessions(this, first.loop);
      this.regions = new Regions(core, first);
      this.tagged = new TaggedImpl(core, posting);
      this.completions = new CompletionsImpl(core, objects, first, loops.dispatcher, check);
      this.fences = new Fences(loops.outboxes);
      this.world =
          new WorldImpl(
              core,
              loops.outboxes,
              fences,
              new GroupStreamRoom(this, core, loops.outboxes, LoopHome::new));
      this.memory = new MemoryImpl(core, regions, world::exchange);
      this.peers = new Peers(core, inboxes, loops.outboxes);
      this.shutdown =
          new Shutdown(
              loops.all.all(),
              core.ending,
              options.invoker(),
              options.timer(),
              new CoreEnd(this, LoopWatchdog.start(core, loops.all)), // before a loop can end
              () -> core.observer.tell(one -> one.runtimeClosed(this)));
    } catch (Throwable e) {
      loops.free(); // the core does not close under a lane
      throw e;
    }
  }

  /**
   * Starts the threads of dedicated loops. If one cannot start, the loops that run are ended, then
   * the core, and nothing is left of the runtime.
   *
   * @param makeThread makes the thread of a loop
   * @throws ResourceExhaustedException if there is no room for another thread
   */
  void start(Function<? super EventLoop, ? extends Thread> makeThread) {
    if (!core.options.invoker()) {
      threads = makeThread;
      loops.start(makeThread, shutdown);
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
  public LciLoop addLoop() {
    return loops.add(threads, shutdown);
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
  public Mono<Void> drained() {
    return fences.drained();
  }

  @Override
  public Mono<List<PeerEvent>> drainedEverywhere() {
    return world.drained();
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
      Publisher<? extends T> items,
      Function<? super T, ? extends Op> operation,
      PostOptions postOptions) {
    return posting.each(items, operation, postOptions);
  }

  @Override
  public Tagged tagged() {
    return tagged;
  }

  @Override
  public Memory memory() {
    return memory;
  }

  @Override
  public Completions completions() {
    return completions;
  }

  @Override
  public World world() {
    return world;
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
    shutdown.start(core.options.closeTimeout());
  }

  @Override
  public void abort() {
    shutdown.abort();
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
