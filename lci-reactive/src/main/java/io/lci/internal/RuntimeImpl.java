/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.LciInstrumentation;
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
import io.lci.error.LciClosedException;
import io.lci.error.LciException;
import io.lci.error.LciException.Detail;
import io.lci.error.PortMismatchException;
import io.lci.error.ResourceExhaustedException;
import io.lci.internal.channel.Channels;
import io.lci.internal.channel.Home;
import io.lci.matching.EngineOptions;
import io.lci.matching.MatchingEngine;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.NativeCalls;
import io.lci.nativebridge.NativeMemory;
import io.lci.nativebridge.NativeScratch;
import io.lci.rma.BufferList;
import io.lci.rma.LciBuffer;
import io.lci.rma.MemoryRegion;
import io.lci.rma.RemoteMemory;
import io.lci.rpc.Rpc;
import io.lci.stream.Streams;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.CoreSubscriber;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.Exceptions;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/** A runtime: the native object, its loops, and what users opened. */
final class RuntimeImpl implements LciRuntime {
  private static final Logger LOG = LoggerFactory.getLogger(LciRuntime.class);

  /** No code of the core. */
  private static final long NOT_ASKED = Long.MIN_VALUE;

  private final NativeCalls calls;
  private final long handle;
  private final LciOptions options;
  private final CoreLog log;
  private final int rank;
  private final int size;
  private final int maxEager;
  private final NativeMemory arena;
  private final List<String> counterNames;
  private final List<EventLoop> loops = new ArrayList<>();
  private final PeerEvents peerEvents;
  private final Regions regions;
  private final Exchange exchange;
  private final ReplyRooms replyRooms;
  private final PeerArenas peerArenas;

  private final Map<Integer, OpenInbox> inboxes = new ConcurrentHashMap<>();

  /** What the senders and operations of this rank call the ports. */
  private final Map<Integer, String> named = new ConcurrentHashMap<>();

  /** The same for a look that allocates nothing: ports whose names the core knows. */
  private final Set<Port> namedPorts = ConcurrentHashMap.newKeySet();

  /**
   * One of them, mostly that of the last operation. Racy: another one costs a look into the set.
   */
  private @Nullable Port lastNamed;

  private final Set<CounterImpl> counters = ConcurrentHashMap.newKeySet();

  private final Set<QueueImpl> queues = ConcurrentHashMap.newKeySet();

  private final AtomicReference<@Nullable Channels> channels = new AtomicReference<>();

  private final CoreGate core = new CoreGate();
  private final Shutdown shutdown;
  private final Disposable watchdog;
  private volatile @Nullable LciSnapshot last;

  /** One of its loops could not start. */
  private volatile boolean stillborn;

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
    int records = completionRecords(layout, options);
    List<Lane> lanes = new ArrayList<>();
    try {
      for (int i = 0, device = 0; i < options.loops(); i++) {
        int devices =
            (options.devices() - device) / (options.loops() - i); // the last ones get more
        Lane lane = Lane.open(calls, layout, handle, device, devices, size, records);
        lanes.add(lane);
        loops.add(new EventLoop(this, i, lane));
        device += devices;
      }
      this.exchange = new Exchange(this);
      this.peerEvents = new PeerEvents(loops.get(0));
      this.shutdown = new Shutdown(loops, options.invoker(), this::closeCore, this::tellClosed);
      this.watchdog = LoopWatchdog.start(this); // before a loop can end
    } catch (Throwable e) {
      lanes.forEach(Lane::free); // the core does not close under a lane
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
    int index = 0;
    try {
      for (; !options.invoker() && index < loops.size(); index++) {
        loops.get(index).start(threads);
      }
    } catch (Throwable e) { // an OutOfMemoryError, where the system has no more threads
      stillborn = true;
      throw cannotStart(loops.get(index), e, shutdown.abandon(loops.subList(index, loops.size())));
    }
    observe(observer -> observer.runtimeStarted(this));
  }

  private static ResourceExhaustedException cannotStart(
      EventLoop loop, Throwable reason, @Nullable Throwable atClose) {
    ResourceExhaustedException error =
        new ResourceExhaustedException(
            Detail.of(
                "create runtime",
                "error_exhausted",
                "the thread of " + loop + " cannot start: " + reason));
    error.initCause(reason);
    if (atClose != null) {
      error.addSuppressed(atClose);
    }
    return error;
  }

  /** Whoever was not told of its start is not told of its end. */
  private void tellClosed() {
    if (!stillborn) {
      observe(observer -> observer.runtimeClosed(this));
    }
  }

  /** The layout tells the default; an attribute may choose another size. */
  private static int completionRecords(io.lci.nativebridge.Layout layout, LciOptions options) {
    String chosen = options.attributes().get("lane_completions");
    return chosen == null ? layout.completionCount() : Integer.parseInt(chosen);
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

  NativeCalls calls() {
    return calls;
  }

  long handle() {
    return handle;
  }

  PeerArenas peerArenas() {
    return peerArenas;
  }

  ReplyRooms replyRooms() {
    return replyRooms;
  }

  NativeMemory arena() {
    return arena;
  }

  EventLoop loop(int index) {
    if (index < 0 || index >= loops.size()) {
      throw new IllegalArgumentException(
          "this runtime has loops 0 to " + (loops.size() - 1) + ": " + index);
    }
    return loops.get(index);
  }

  /** The loop that serves a device. */
  EventLoop loopOf(int device) {
    for (EventLoop loop : loops) {
      if (device >= loop.firstDevice() && device - loop.firstDevice() < loop.deviceCount()) {
        return loop;
      }
    }
    throw new IllegalArgumentException(
        "this runtime has devices 0 to " + (options.devices() - 1) + ": " + device);
  }

  List<EventLoop> eventLoops() {
    return loops;
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

  /** Calls the core unless it is closed. */
  long withCore(LongSupplier call, long otherwise) {
    return core.with(call, otherwise);
  }

  /**
   * Asks the core and throws what it refuses. Once it is closed it is not asked, and what it said
   * last is about something else.
   */
  void askCore(String operation, int device, IntSupplier call) {
    long code = core.with(call::getAsInt, NOT_ASKED);
    if (code == NOT_ASKED) {
      throw Errors.closed(operation);
    }
    Errors.check(calls, (int) code, operation, device);
  }

  /** Why {@code what}, which is disposed or about to end, gives nothing any more. */
  LciClosedException gone(String operation, String what, String remedy) {
    return shutdown.hasStarted()
        ? Errors.closed(operation)
        : Errors.disposed(operation, what, remedy);
  }

  /** Frees a completion object; one that is still bound goes with the runtime. */
  void freeComp(long comp) {
    alone(() -> withCore(() -> calls.compFree(comp), Codes.DONE));
  }

  /** Takes something from the core that others may be using inside {@link #withCore}. */
  void alone(Runnable end) {
    core.alone(end);
  }

  void forget(OpenInbox inbox) {
    inboxes.remove(inbox.port().number(), inbox);
  }

  void forget(CounterImpl counter) {
    counters.remove(counter);
  }

  void forget(QueueImpl queue) {
    queues.remove(queue);
  }

  /** Passes on what the core has to say. */
  void tellLog() {
    log.passOn();
  }

  /** After an enter: counters may have moved, queues may have been filled. */
  void lookAtObjects() {
    if (!counters.isEmpty()) {
      counters.forEach(CounterImpl::look);
    }
    if (!queues.isEmpty()) {
      queues.forEach(QueueImpl::look);
    }
  }

  void stalled(EventLoop loop, Destination destination, Duration time) {
    LOG.warn(
        "rank {}: {} accepted nothing for {} ms, {} operations wait, last answer {}{}; see"
            + " docs/guide/backpressure.md",
        rank,
        destination,
        time.toMillis(),
        destination.count,
        Errors.name(calls, destination.reason),
        guess(destination));
    observe(
        observer ->
            observer.stalled(
                destination.rank,
                destination.port,
                Errors.outcome(destination.reason),
                destination.count,
                time));
  }

  private static String guess(Destination destination) {
    return destination.kind == Destination.AM && destination.reason == Codes.RETRY_NOCREDIT
        ? ": the port is not open there, or its subscriber asks for nothing"
        : "";
  }

  /** A PEER record of a loop's lane. Every lane may get one; the event is told once, by loop 0. */
  void peerChanged(EventLoop from, PeerEvent event) {
    int code = event.state() == PeerEvent.State.LEFT ? Codes.ERR_PEER_LEFT : Codes.ERR_PEER_FAILED;
    failRank(from, event.rank(), code);
    if (from.index() != 0) {
      return;
    }
    for (EventLoop loop : loops) {
      if (loop != from) {
        loop.execute(() -> failRank(loop, event.rank(), code));
      }
    }
    tell(event);
    peerEvents.add(event);
    observe(observer -> observer.peerChanged(event));
  }

  /** A departure is news only to those who may wait for that rank's messages. */
  private void tell(PeerEvent event) {
    List<Port> waiting =
        inboxes.values().stream()
            .filter(OpenInbox::hasSubscriber)
            .map(OpenInbox::port)
            .filter(port -> !port.equals(Channels.PORT))
            .toList();
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

  void observe(java.util.function.Consumer<LciInstrumentation> call) {
    try {
      call.accept(options.instrumentation());
    } catch (Throwable e) {
      Exceptions.throwIfJvmFatal(e);
      LOG.warn("the instrumentation failed", e);
    }
  }

  /** As {@link #observe}, without an object for each: the loop calls it again and again. */
  void operationTimed(Op.Kind kind, int device, long nanos) {
    try {
      options.instrumentation().operationTimed(kind, device, nanos);
    } catch (Throwable e) {
      Exceptions.throwIfJvmFatal(e);
      LOG.warn("the instrumentation failed", e);
    }
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
    return List.copyOf(loops);
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
    Objects.requireNonNull(port, "port");
    refuseClosed("open port " + port);
    boolean whole = inboxOptions.partitions() == 1;
    OpenInbox created =
        whole
            ? new InboxImpl(loop(inboxOptions.loop()), port, inboxOptions)
            : new PartitionedInbox(this, port, inboxOptions);
    OpenInbox existing = inboxes.putIfAbsent(port.number(), created);
    boolean ending = existing != null && existing.isDisposed();
    if (ending && !inboxes.replace(port.number(), existing, created)) {
      return inbox(port, inboxOptions); // it went just now
    }
    if (existing == null || ending) {
      List<InboxImpl> parts =
          created instanceof PartitionedInbox cut ? cut.parts() : List.of((InboxImpl) created);
      for (InboxImpl part : parts) {
        open(part, ending); // the end of the one before may be on its way to the loop
      }
      return created;
    }
    if (!existing.port().equals(port)) {
      throw new IllegalArgumentException(
          "port " + port.number() + " is open as " + existing.port());
    }
    return existing;
  }

  private void open(InboxImpl inbox, boolean behindTasks) {
    EventLoop home = inbox.loop();
    if (home.inLoop() && !behindTasks) {
      inbox.open();
      inbox.awaitOpen();
      return;
    }
    home.execute(
        new LoopTask() {
          @Override
          public void run() {
            inbox.open();
          }

          @Override
          public void rejected() {
            inbox.openRejected();
          }
        });
    if (!options.invoker() && !Schedulers.isInNonBlockingThread()) { // else it opens later
      inbox.awaitOpen();
    }
  }

  @Override
  public Sender sender(Port port) {
    return sender(port, SenderOptions.defaults());
  }

  @Override
  public Sender sender(Port port, SenderOptions senderOptions) {
    Objects.requireNonNull(port, "port");
    refuseClosed("name port " + port);
    name(port);
    int chosen = senderOptions.device();
    EventLoop home =
        chosen == SenderOptions.ANY_DEVICE ? loop(senderOptions.loop()) : loopOf(chosen);
    int device = chosen == SenderOptions.ANY_DEVICE ? home.firstDevice() : chosen;
    return new SenderImpl(home, device, port, senderOptions, size);
  }

  /** Tells the core what this rank calls a port, once; its owner compares. */
  private void name(Port port) {
    if (port == lastNamed) {
      return;
    }
    if (namedPorts.contains(port)) {
      lastNamed = port;
      return;
    }
    ByteBuffer name = NativeMemory.cString(port.name());
    long code =
        withCore(
            () -> calls.portName(handle, port.number(), NativeMemory.address(name)), NOT_ASKED);
    Reference.reachabilityFence(name);
    if (code == NOT_ASKED) {
      return; // closed: what was to be posted says so
    }
    try {
      Errors.check(calls, (int) code, "name port " + port, LciException.NONE);
    } catch (PortMismatchException e) {
      throw withName(e, named.get(port.number()));
    }
    named.putIfAbsent(port.number(), port.name());
    namedPorts.add(port);
  }

  /** The core knows a hash of the name alone. */
  private static PortMismatchException withName(PortMismatchException e, @Nullable String known) {
    return known == null
        ? e
        : new PortMismatchException(
            Detail.of(e.operation(), e.code(), e.hint() + "; it is \"" + known + '"'));
  }

  @Override
  public Mono<Completion> post(Op op) {
    return Signals.on(op.signalOn(), new MonoOp<>(homeOf(op), op, OpRun.Result.COMPLETION));
  }

  @Override
  public Flux<SendResult<Op>> post(Publisher<? extends Op> ops, PostOptions postOptions) {
    return post(ops, op -> op, postOptions);
  }

  @Override
  public <T> Flux<SendResult<T>> post(
      Publisher<? extends T> items, Function<? super T, Op> operation, PostOptions postOptions) {
    Objects.requireNonNull(items, "items");
    Objects.requireNonNull(operation, "operation");
    EventLoop home = loop(postOptions.loop());
    return Signals.on(
        postOptions.signalOn(),
        new Flux<SendResult<T>>() {
          @Override
          public void subscribe(CoreSubscriber<? super SendResult<T>> actual) {
            if (home.isDisposed()) {
              Operators.error(actual, Errors.closed("post operations"));
              return;
            }
            Flux.from(items).subscribe(new BulkPost<T>(home, actual, operation, postOptions));
          }
        });
  }

  @Override
  public Mono<Void> send(int to, long tag, Payload payload) {
    Op op = Op.send(to, tag, payload);
    return new MonoOp<>(homeOf(op), op, OpRun.Result.NOTHING);
  }

  @Override
  public Mono<Message> receive(int from, long tag) {
    return receive(from, tag, maxEager);
  }

  @Override
  public Mono<Message> receive(int from, long tag, int maxBytes) {
    Op op = Op.receive(from, tag, maxBytes);
    return new MonoOp<>(homeOf(op), op, OpRun.Result.MESSAGE);
  }

  /** Ids of another runtime's regions mean nothing here, or something else. */
  private void checkOwn(Op op) {
    checkOwn(op.remote());
    if (op.places() != null) {
      op.places().forEach(place -> checkOwn(place.memory()));
    }
    checkBuffer(op.buffer());
    if (op.buffers() != null) {
      op.buffers().parts().forEach(RuntimeImpl::checkBuffer);
    }
    if (op.payload() instanceof BufferList list) {
      list.parts().forEach(RuntimeImpl::checkBuffer);
    }
    if (op.engine() != null && !(op.engine() instanceof EngineImpl e && e.runtime() == this)) {
      throw new IllegalArgumentException("another runtime made " + op.engine());
    }
    if (op.target() != null) {
      checkTarget(op.target());
    }
  }

  private void checkOwn(@Nullable RemoteMemory remote) {
    if (remote != null
        && !(remote instanceof RemoteMemoryImpl memory && memory.runtime() == this)) {
      throw new IllegalArgumentException("another runtime opened " + remote);
    }
  }

  private static void checkBuffer(@Nullable LciBuffer buffer) {
    if (buffer != null && !(buffer instanceof UserBuffer)) {
      throw new IllegalArgumentException("not a buffer of LciRuntime.buffer(): " + buffer);
    }
  }

  private NativeTarget checkTarget(CompletionTarget target) {
    if (!(target instanceof NativeTarget known && known.runtime() == this)) {
      throw new IllegalArgumentException("not a completion object of this runtime: " + target);
    }
    return known;
  }

  /** Throws if the operation cannot be one of this runtime. */
  void checkPost(Op op) {
    checkOwn(op);
    if (op.kind() != Op.Kind.BARRIER && op.rank() != Op.ANY_SOURCE) {
      checkRank(op.rank());
    }
    if (op.port() != null) {
      name(op.port());
    }
    if (op.replyTo() != null) {
      replyRooms.id(op.replyTo());
    }
  }

  private EventLoop homeOf(Op op) {
    checkPost(op);
    return loopOf(op.device());
  }

  @Override
  public Synchronizer synchronizer(int threshold) {
    refuseClosed("create synchronizer");
    SynchronizerImpl synchronizer = SynchronizerImpl.create(loop(0), threshold);
    loop(0).dispatcher().attach(synchronizer);
    return synchronizer;
  }

  @Override
  public Counter counter() {
    refuseClosed("create counter");
    NativeScratch out = new NativeScratch(1);
    askCore("create counter", LciException.NONE, () -> calls.counterCreate(handle, out.address(0)));
    CounterImpl counter = new CounterImpl(this, out.getLong(0));
    counters.add(counter);
    return counter;
  }

  @Override
  public CompletionQueue queue(QueueOptions queueOptions) {
    refuseClosed("create queue");
    QueueImpl queue = QueueImpl.create(this, queueOptions);
    queues.add(queue);
    return queue;
  }

  @Override
  public MatchingEngine engine(int number, EngineOptions engineOptions) {
    if (number < 1 || number > MatchingEngine.MAX_NUMBER) {
      throw new IllegalArgumentException(
          "engines have numbers 1 to " + MatchingEngine.MAX_NUMBER + ": " + number);
    }
    refuseClosed("create engine");
    return EngineImpl.create(this, number, engineOptions);
  }

  @Override
  public CompletionGraph.Builder graph() {
    refuseClosed("build graph");
    return new GraphBuilder(this);
  }

  @Override
  public Disposable bind(Port port, CompletionTarget target) {
    NativeTarget comp = checkTarget(target);
    ByteBuffer name = NativeMemory.cString(port.name());
    askCore(
        "bind port " + port,
        LciException.NONE,
        () ->
            calls.portOpen(
                handle,
                port.number(),
                NativeMemory.address(name),
                comp.handle(),
                InboxOptions.DEFAULT_MESSAGES,
                InboxOptions.DEFAULT_BYTES));
    Reference.reachabilityFence(name);
    return Disposables.composite(
        () -> withCore(() -> calls.portClose(handle, port.number()), Codes.DONE));
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
    refuseClosed("open streams");
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

      @Override
      public int leftBehind(Inbox inbox) {
        return ((InboxImpl) inbox).leftBehind();
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
      EventLoop loop = loopOf(device);
      if (device == loop.firstDevice()) {
        loop.outbox().addWaiting(waiting);
        loop.count(own);
      }
      own.forEach((name, value) -> all.merge(name, value, Long::sum));
      devices.add(own);
    }
    Channels.count(channels.get(), all);
    List<LciSnapshot.InboxState> states = inboxes.values().stream().map(OpenInbox::state).toList();
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

  private void refuseClosed(String operation) {
    if (shutdown.hasStarted()) {
      throw Errors.closed(operation);
    }
  }

  /** The loop failed for a reason of its own: closes abortively, and close() tells why. */
  void failed(Throwable error) {
    shutdown.failed(error);
  }

  /** The loop is about to end: what lives on it ends now. */
  void loopEnding(EventLoop loop) {
    if (loop.index() == 0) {
      peerEvents.complete();
    }
  }

  /** Called by each loop after it freed its lane. */
  void loopEnded() {
    shutdown.loopEnded();
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
