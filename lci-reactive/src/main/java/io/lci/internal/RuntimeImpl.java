/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.LciInstrumentation;
import io.lci.LciLoop;
import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.LciSnapshot;
import io.lci.Op;
import io.lci.PeerEvent;
import io.lci.am.Inbox;
import io.lci.am.InboxOptions;
import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.am.Sender;
import io.lci.am.SenderOptions;
import io.lci.completion.Completion;
import io.lci.completion.CompletionTarget;
import io.lci.completion.Counter;
import io.lci.completion.Synchronizer;
import io.lci.error.LciException;
import io.lci.error.LciException.Detail;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.NativeCalls;
import io.lci.nativebridge.NativeLibrary;
import io.lci.nativebridge.NativeMemory;
import io.lci.nativebridge.NativeScratch;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.Exceptions;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/** A runtime: the native object, its loops, and what users opened. */
final class RuntimeImpl implements LciRuntime {
  private static final Logger LOG = LoggerFactory.getLogger(LciRuntime.class);

  /** How long close() waits beyond its limit for a loop that user code holds. */
  private static final long STUCK_AFTER_NANOS = TimeUnit.SECONDS.toNanos(5);

  private final NativeCalls calls;
  private final long handle;
  private final LciOptions options;
  private final int rank;
  private final int size;
  private final int maxEager;
  private final NativeMemory arena;
  private final List<String> counterNames;
  private final List<EventLoop> loops = new ArrayList<>();
  private final PeerEvents peerEvents;

  private final Map<Integer, InboxImpl> inboxes = new ConcurrentHashMap<>();
  private final Set<CounterImpl> counters = ConcurrentHashMap.newKeySet();

  // Closing
  private final AtomicBoolean closeStarted = new AtomicBoolean();
  private final AtomicInteger loopsLeft;
  private final ReentrantReadWriteLock core = new ReentrantReadWriteLock();
  private boolean coreClosed; // guarded by core
  private volatile long closeBy;
  private volatile @Nullable Throwable closeCause;
  private final Sinks.Empty<Void> closed = Sinks.empty();
  private final CountDownLatch closedLatch = new CountDownLatch(1);
  private volatile @Nullable LciSnapshot last;

  RuntimeImpl(NativeLibrary library, long handle, LciOptions options) {
    this(library.calls(), library.layout(), handle, options);
  }

  RuntimeImpl(
      NativeCalls calls, io.lci.nativebridge.Layout layout, long handle, LciOptions options) {
    this.calls = calls;
    this.handle = handle;
    this.options = options;
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
    this.loopsLeft = new AtomicInteger(options.loops());
    for (int i = 0; i < options.loops(); i++) {
      loops.add(
          new EventLoop(
              this,
              i,
              Lane.open(calls, layout, handle, i, size, completionRecords(layout, options))));
    }
    this.peerEvents = new PeerEvents(loops.get(0));
    if (!options.invoker()) {
      loops.forEach(EventLoop::start);
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
    core.readLock().lock();
    try {
      return coreClosed ? otherwise : call.getAsLong();
    } finally {
      core.readLock().unlock();
    }
  }

  /** Frees a completion object; one that is still bound goes with the runtime. */
  void freeComp(long comp) {
    withCore(() -> calls.compFree(comp), Codes.DONE);
  }

  void forget(InboxImpl inbox) {
    inboxes.remove(inbox.port().number(), inbox);
  }

  void forget(CounterImpl counter) {
    counters.remove(counter);
  }

  void lookAtCounters() {
    if (!counters.isEmpty()) {
      counters.forEach(CounterImpl::look);
    }
  }

  void stalled(EventLoop loop, Destination destination, Duration time) {
    LOG.warn(
        "rank {}: {} accepted nothing for {} ms, {} operations wait, last answer {}{}; see"
            + " docs/backpressure.md",
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
        inboxes.values().stream().filter(InboxImpl::hasSubscriber).map(InboxImpl::port).toList();
    String still = waiting.isEmpty() ? "" : "; still waiting for messages: " + waiting;
    if (event.state() == PeerEvent.State.FAILED) {
      LOG.warn("rank {}: rank {} died{}", rank, event.rank(), still);
    } else if (!waiting.isEmpty() && !closeStarted.get()) {
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
                    loop.index(),
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
    InboxImpl created = new InboxImpl(loop(inboxOptions.loop()), port, inboxOptions);
    InboxImpl existing = inboxes.putIfAbsent(port.number(), created);
    if (existing == null) {
      open(created);
      return created;
    }
    if (!existing.port().equals(port)) {
      throw new IllegalArgumentException(
          "port " + port.number() + " is open as " + existing.port());
    }
    return existing;
  }

  private void open(InboxImpl inbox) {
    EventLoop home = inbox.loop();
    if (home.inLoop()) {
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
            forget(inbox);
            inbox.openRejected();
          }
        });
    if (!options.invoker() && !Schedulers.isInNonBlockingThread()) {
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
    ByteBuffer name = NativeMemory.cString(port.name());
    int code =
        (int)
            withCore(
                () -> calls.portName(handle, port.number(), NativeMemory.address(name)),
                Codes.ERR_CLOSED);
    Errors.check(calls, code, "name port " + port, LciException.NONE);
    return new SenderImpl(loop(senderOptions.loop()), port, senderOptions, size);
  }

  @Override
  public Mono<Completion> post(Op op) {
    return new MonoOp<>(homeOf(op), op, OpRun.Result.COMPLETION);
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

  private EventLoop homeOf(Op op) {
    if (op.kind() != Op.Kind.BARRIER && op.rank() != Op.ANY_SOURCE) {
      checkRank(op.rank());
    }
    return loop(op.device());
  }

  @Override
  public Synchronizer synchronizer(int threshold) {
    refuseClosed("create synchronizer");
    SynchronizerImpl synchronizer = new SynchronizerImpl(loop(0), threshold);
    loop(0).execute(() -> loop(0).dispatcher().attach(synchronizer));
    return synchronizer;
  }

  @Override
  public Counter counter() {
    refuseClosed("create counter");
    NativeScratch out = new NativeScratch(1);
    int code = (int) withCore(() -> calls.counterCreate(handle, out.address(0)), Codes.ERR_CLOSED);
    Errors.check(calls, code, "create counter", LciException.NONE);
    CounterImpl counter = new CounterImpl(this, out.getLong(0));
    counters.add(counter);
    return counter;
  }

  @Override
  public Disposable bind(Port port, CompletionTarget target) {
    if (!(target instanceof NativeTarget comp)) {
      throw new IllegalArgumentException(
          "not a counter or synchronizer of this library: " + target);
    }
    ByteBuffer name = NativeMemory.cString(port.name());
    int code =
        (int)
            withCore(
                () ->
                    calls.portOpen(
                        handle,
                        port.number(),
                        NativeMemory.address(name),
                        comp.handle(),
                        InboxOptions.DEFAULT_MESSAGES,
                        InboxOptions.DEFAULT_BYTES),
                Codes.ERR_CLOSED);
    Errors.check(calls, code, "bind port " + port, LciException.NONE);
    return Disposables.composite(
        () -> withCore(() -> calls.portClose(handle, port.number()), Codes.DONE));
  }

  @Override
  public Flux<PeerEvent> peerEvents() {
    return peerEvents;
  }

  // Snapshot

  @Override
  public LciSnapshot snapshot() {
    core.readLock().lock();
    try {
      LciSnapshot final_ = last;
      return final_ != null ? final_ : takeSnapshot();
    } finally {
      core.readLock().unlock();
    }
  }

  private LciSnapshot takeSnapshot() {
    int count = counterNames.size();
    NativeScratch values = new NativeScratch(Math.max(1, count));
    calls.runtimeSnapshot(handle, values.address(0), count);
    Map<String, Long> all = new LinkedHashMap<>();
    for (int i = 0; i < count; i++) {
      all.put(counterNames.get(i), values.getLong(i));
    }
    loops.forEach(loop -> loop.count(all));
    List<LciSnapshot.InboxState> states = inboxes.values().stream().map(InboxImpl::state).toList();
    return new LciSnapshot(
        all,
        states,
        all.getOrDefault("packets_free", 0L),
        all.getOrDefault("packets_capacity", 0L));
  }

  // Closing

  private void refuseClosed(String operation) {
    if (closeStarted.get()) {
      throw Errors.closed(operation);
    }
  }

  /** The loop failed for a reason of its own: closes abortively, and close() tells why. */
  void failed(Throwable error) {
    closeCause = error;
    startClose(Duration.ZERO);
  }

  private void startClose(Duration limit) {
    long by = System.nanoTime() + limit.toNanos();
    if (!closeStarted.getAndSet(true) || by - closeBy < 0) {
      closeBy = by;
    }
    for (EventLoop loop : loops) {
      loop.close(by);
    }
  }

  /** The loop is about to end: what lives on it ends now. */
  void loopEnding(EventLoop loop) {
    if (loop.index() == 0) {
      peerEvents.complete();
    }
  }

  /** Called by each loop after it freed its lane; the last one closes the core. */
  void loopEnded() {
    if (loopsLeft.decrementAndGet() > 0) {
      return;
    }
    Throwable failure = closeCause;
    core.writeLock().lock();
    try {
      last = takeSnapshot();
      coreClosed = true;
      long left = Math.max(0, TimeUnit.NANOSECONDS.toMillis(closeBy - System.nanoTime()));
      int code = calls.runtimeClose(handle, (int) Math.min(left, Integer.MAX_VALUE));
      if (Codes.isError(code)) {
        failure =
            Errors.of(
                Detail.of(
                    "close", Errors.name(calls, code), NativeMemory.string(calls.lastError())),
                code);
      }
    } finally {
      core.writeLock().unlock();
    }
    try {
      observe(observer -> observer.runtimeClosed(this));
    } catch (Throwable fatal) {
      failure = fatal;
      throw fatal;
    } finally {
      closeCause = failure;
      tellClosed(failure);
    }
  }

  /** Lets {@link #close()} return, and ends {@link #onClose()}. */
  private void tellClosed(@Nullable Throwable failure) {
    closedLatch.countDown();
    if (failure == null) {
      closed.tryEmitEmpty();
    } else {
      closed.tryEmitError(failure);
    }
  }

  @Override
  public Mono<Void> onClose() {
    return closed.asMono();
  }

  @Override
  public Mono<Void> disposeGracefully(Duration limit) {
    return Mono.defer(
        () -> {
          startClose(limit);
          return closed.asMono();
        });
  }

  @Override
  public void dispose() {
    startClose(Duration.ZERO);
  }

  @Override
  public boolean isDisposed() {
    return closedLatch.getCount() == 0;
  }

  @Override
  public void close() {
    for (EventLoop loop : loops) {
      if (loop.inSignal()) {
        throw new IllegalStateException(
            "close() would wait for the thread it is called on, "
                + loop
                + "; use dispose() or disposeGracefully()");
      }
    }
    startClose(options.closeTimeout());
    awaitClosed(System.nanoTime() + options.closeTimeout().toNanos() + STUCK_AFTER_NANOS);
    Throwable failure = closeCause;
    if (failure != null) {
      throw Exceptions.propagate(failure);
    }
  }

  private void awaitClosed(long deadline) {
    boolean interrupted = false;
    while (closedLatch.getCount() > 0) {
      if (System.nanoTime() - deadline >= 0) {
        throw new LciException(
            Detail.of("close", "error_timeout", "still running: " + stuckLoops()));
      }
      try {
        if (options.invoker()) {
          driveOwnLoops();
        } else {
          closedLatch.await(Math.max(1, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
        }
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Drives the invoker loops that are this thread's or nobody's. */
  private void driveOwnLoops() throws InterruptedException {
    int work = 0;
    for (EventLoop loop : loops) {
      Thread owner = loop.thread();
      if (!loop.isDisposed()
          && (owner == null || owner == Thread.currentThread() || !owner.isAlive())) {
        work += loop.poll();
      }
    }
    if (work == 0 && closedLatch.await(1, TimeUnit.MILLISECONDS)) {
      LOG.debug("closed by another thread");
    }
  }

  private String stuckLoops() {
    StringBuilder text = new StringBuilder();
    for (EventLoop loop : loops) {
      Thread thread = loop.thread();
      if (thread != null && isAtWork(loop, thread)) {
        text.append(loop).append(" in");
        for (StackTraceElement frame : thread.getStackTrace()) {
          text.append(' ').append(frame);
          if (text.length() > 1000) {
            break;
          }
        }
        text.append("; ");
      }
    }
    return text.toString();
  }

  /** A dedicated thread outlives its loop while it closes the core and tells the observer. */
  private boolean isAtWork(EventLoop loop, Thread thread) {
    return !loop.isDisposed() || (!options.invoker() && thread.isAlive());
  }

  @Override
  public String toString() {
    return "LciRuntime[rank " + rank + " of " + size + ']';
  }
}
