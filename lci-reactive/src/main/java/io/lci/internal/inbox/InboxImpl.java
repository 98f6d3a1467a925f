/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.inbox;

import io.lci.LciSnapshot;
import io.lci.am.Inbox;
import io.lci.am.InboxOptions;
import io.lci.am.Message;
import io.lci.am.MessageHandler;
import io.lci.am.MessageView;
import io.lci.am.Port;
import io.lci.am.RetainedMessage;
import io.lci.internal.core.Errors;
import io.lci.internal.lane.Lane;
import io.lci.internal.lane.MessageSink;
import io.lci.internal.lane.RecordView;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.Signals;
import io.lci.internal.loop.SoleSubscriber;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.NativeMemory;
import io.lci.nativebridge.NativeScratch;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.core.publisher.Sinks;

/**
 * An open port. Demand goes to the lane's demand table; messages that were already under way when a
 * subscriber cancelled are copied and kept for the next one, at most a completion ring full.
 */
public final class InboxImpl implements OpenInbox, MessageSink {
  /** Cumulative demand that is never reached. */
  private static final long UNBOUNDED = Long.MAX_VALUE >>> 1;

  private final Inboxes inboxes;
  private final InboxLoop home;
  private final EventLoop loop;
  private final Lane lane;
  private final Port port;
  private final InboxOptions options;

  /** Which part of {@link #whole} it is. */
  private final int part;

  private final @Nullable PartitionedInbox whole;
  private final SoleSubscriber<InboxTap<?>> tap = new SoleSubscriber<>();
  private final Sinks.Empty<Void> closed = Sinks.empty();
  private final java.util.concurrent.CountDownLatch opening =
      new java.util.concurrent.CountDownLatch(1);
  private volatile @Nullable RuntimeException openFailure;
  private volatile boolean disposed;

  /** Place in the lane's demand table, never the same again after -1. Written by the loop. */
  private volatile int index = -1;

  /** Size of {@link #kept}. Written by the loop. */
  private volatile int keptCount;

  // Loop only
  private boolean forgotten;

  /** It was closed before its turn to open came. */
  private boolean closedUnopened;

  /** Why it was closed, or could not be opened; null if the user disposed it. */
  private @Nullable RuntimeException ending;

  private @Nullable NativeMemory store;
  private @Nullable InboxTap<?> active;
  private final ArrayDeque<Message> kept = new ArrayDeque<>();
  private long dispatched;
  private int retained;

  /** Messages stay in their packets. */
  private boolean inPlace;

  public InboxImpl(Inboxes inboxes, InboxLoop home, Port port, InboxOptions options) {
    this(inboxes, home, port, options, 0, null);
  }

  /** One part of a port. */
  public InboxImpl(
      Inboxes inboxes,
      InboxLoop home,
      Port port,
      InboxOptions options,
      int part,
      @Nullable PartitionedInbox whole) {
    this.inboxes = inboxes;
    this.home = home;
    this.loop = home.loop;
    this.lane = home.lane;
    this.port = port;
    this.options = options;
    this.part = part;
    this.whole = whole;
  }

  // Opening and closing

  /** Opens the port. Loop only. */
  void open() {
    if (closedUnopened) {
      over();
      opening.countDown();
      return;
    }
    try {
      if (disposed || loop.isClosing()) {
        throw gone("open port " + port);
      }
      if (options.replies() > 0) {
        loop.core().replyRooms.open(port, options.replies(), options.replyBytes());
      }
      NativeScratch out = new NativeScratch(3);
      ByteBuffer name = NativeMemory.cString(port.name());
      Errors.check(
          lane.calls,
          lane.calls.laneOpenPart(
              lane.handle,
              port.number(),
              NativeMemory.address(name),
              part,
              whole == null ? 1 : options.partitions(),
              options.messages(),
              options.bytes(),
              out.address(0),
              out.address(1),
              out.address(2)),
          "open port " + port,
          loop.firstDevice());
      java.lang.ref.Reference.reachabilityFence(name);
      int opened = out.getInt(0);
      if (out.getLong(1) != 0 && out.getLong(2) > 0) {
        store = NativeMemory.wrap(out.getLong(1), out.getLong(2));
      }
      dispatched = lane.delivered(opened);
      lane.requested(opened, dispatched);
      home.dispatcher.attach(opened, this);
      index = opened;
      InboxTap<?> waiting = active;
      if (waiting != null) {
        waiting.schedule();
      }
    } catch (RuntimeException e) {
      openFailure = e;
      ending = e;
      forget();
      if (whole != null) {
        whole.dispose(); // a port does without none of its parts
      }
      tellNotOpened(e);
    } finally {
      opening.countDown();
    }
  }

  /** The loop ended before it could open. Who subscribed on the loop meanwhile is told, too. */
  public void openRejected() {
    RuntimeException failure = loop.closed("open port " + port);
    forget();
    openFailure = failure;
    ending = failure;
    tellNotOpened(failure);
  }

  /** A subscriber that throws keeps nobody else from knowing. */
  private void tellNotOpened(RuntimeException reason) {
    InboxTap<?> waiting = active;
    active = null;
    try {
      if (waiting != null) {
        waiting.fail(reason);
      }
    } finally {
      closed.tryEmitError(reason);
      opening.countDown();
    }
  }

  private RuntimeException gone(String operation) {
    return loop.core().ending.gone(operation, "inbox", "LciRuntime.inbox opens the port anew");
  }

  /** Waits for the loop to open the port; not on a loop's thread. */
  void awaitOpen() {
    boolean interrupted = false;
    while (true) {
      try {
        opening.await();
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    RuntimeException failure = openFailure;
    if (failure != null) {
      throw failure;
    }
  }

  /** No more in the table of the runtime; at most once. */
  private void forget() {
    if (forgotten) {
      return;
    }
    forgotten = true;
    if (whole == null) {
      inboxes.forget(this);
    } else {
      whole.forget(this);
    }
  }

  @Override
  public void dispose() {
    if (whole == null) {
      disposeHere();
    } else {
      whole.dispose();
    }
  }

  void disposeHere() {
    if (!disposed) {
      disposed = true;
      loop.execute(() -> close(null));
    }
  }

  /**
   * Closes the port and ends the subscriber: complete, or with {@code error}. Loop only, outside
   * dispatch.
   */
  @Override
  public void close(@Nullable RuntimeException error) {
    if (!disposed) {
      disposed = true;
      ending = error;
    }
    int closing = index;
    if (closing >= 0) {
      index = -1; // before the place in the table may go to another inbox, see depth()
      home.dispatcher.detach(closing);
      int code = lane.closePort(closing);
      loop.enterSoon();
      if (Codes.isError(code)) {
        loop.uncaught(
            new IllegalStateException("close port " + port + ": " + Errors.name(lane.calls, code)));
      }
    }
    closedUnopened = opening.getCount() > 0; // the one before may be open still
    if (!closedUnopened) {
      forget();
    }
    kept.clear();
    keptCount = 0;
    InboxTap<?> last = active;
    active = null;
    try {
      if (last != null) {
        last.settle();
        end(last, error);
      }
    } finally { // whatever the subscriber throws: others wait for the port
      if (!closedUnopened) {
        over();
      }
    }
  }

  private static void end(InboxTap<?> tap, @Nullable RuntimeException error) {
    if (error == null) {
      tap.complete();
    } else {
      tap.fail(error);
    }
  }

  /** The port may be opened anew. */
  private void over() {
    forget();
    closed.tryEmitEmpty();
  }

  @Override
  public boolean isDisposed() {
    return disposed;
  }

  @Override
  public Mono<Void> onClose() {
    return closed.asMono();
  }

  // Public view

  @Override
  public Port port() {
    return port;
  }

  public EventLoop loop() {
    return loop;
  }

  InboxLoop home() {
    return home;
  }

  /**
   * What the core stores, and what was kept here. Read in the lane's memory, which stays mapped; if
   * the inbox was closed meanwhile the place may be another's, and what was read does not count.
   */
  @Override
  public int depth() {
    int place = index;
    int stored = place < 0 ? 0 : lane.depth(place);
    return keptCount + (place == index ? stored : 0);
  }

  /** Messages of peers that are gone, which wait for room here: not in the depth. Loop only. */
  public int leftBehind() {
    return index < 0 ? 0 : lane.leftBehind(index);
  }

  @Override
  public List<Inbox> partitions() {
    return List.of(this);
  }

  @Override
  public int capacity() {
    return options.messages();
  }

  @Override
  public LciSnapshot.InboxState state() {
    int depth = depth();
    return new LciSnapshot.InboxState(port.toString(), depth, capacity(), retained, stall(depth));
  }

  /** Any thread: what the loop knows is read as it is now. */
  private LciSnapshot.Stall stall(int depth) {
    if (depth == 0) {
      return LciSnapshot.Stall.NONE;
    }
    InboxTap<?> live = tap.live();
    if (live == null) {
      return LciSnapshot.Stall.NO_SUBSCRIBER;
    }
    if (live.demand == 0) {
      return LciSnapshot.Stall.NO_DEMAND;
    }
    return live.allowance() == 0 ? LciSnapshot.Stall.RETAINED : LciSnapshot.Stall.NONE;
  }

  @Override
  public <T> Flux<T> receive(Function<? super MessageView, ? extends T> decoder) {
    Objects.requireNonNull(decoder, "decoder");
    return Signals.on(
        options.signalOn(),
        new Flux<T>() {
          @Override
          public void subscribe(CoreSubscriber<? super T> actual) {
            attach(actual, new DecodingTap<>(InboxImpl.this, actual, decoder));
          }
        });
  }

  @Override
  public Flux<Message> receive() {
    return receive(MessageView::copy);
  }

  @Override
  public Flux<List<Message>> receiveBatches(int max) {
    return batches(max, null);
  }

  @Override
  public <T> Flux<List<T>> receiveBatches(
      int max, Function<? super MessageView, ? extends T> decoder) {
    Objects.requireNonNull(decoder, "decoder");
    return batches(max, decoder);
  }

  /** Without a decoder T is {@link Message}. */
  private <T> Flux<List<T>> batches(
      int max, @Nullable Function<? super MessageView, ? extends T> decoder) {
    if (max < 1) {
      throw new IllegalArgumentException("a batch has room for at least 1: " + max);
    }
    return Signals.on(
        options.signalOn(),
        new Flux<List<T>>() {
          @Override
          public void subscribe(CoreSubscriber<? super List<T>> actual) {
            attach(actual, new BatchTap<>(InboxImpl.this, actual, max, decoder));
          }
        },
        max);
  }

  @Override
  public Flux<RetainedMessage> receiveRetained() {
    Flux<RetainedMessage> here =
        new Flux<>() {
          @Override
          public void subscribe(CoreSubscriber<? super RetainedMessage> actual) {
            attach(actual, new RetainingTap(InboxImpl.this, actual));
          }
        };
    return options.signalOn() == null
        ? here
        : Signals.on(options.signalOn(), here)
            .doOnDiscard(RetainedMessage.class, RetainedMessage::release);
  }

  @Override
  public Disposable handle(MessageHandler handler) {
    Objects.requireNonNull(handler, "handler");
    RuntimeException failure = failure("handle messages of " + port);
    if (failure != null) {
      throw failure;
    }
    HandlingTap handling = new HandlingTap(this, handler);
    IllegalStateException refusal = claim(handling);
    if (refusal != null) {
      throw refusal;
    }
    handling.request(Long.MAX_VALUE);
    return handling;
  }

  /** Why nothing can be taken any more, if so. */
  private @Nullable RuntimeException failure(String operation) {
    RuntimeException failure = openFailure;
    return failure == null && disposed ? gone(operation) : failure;
  }

  private void attach(CoreSubscriber<?> actual, InboxTap<?> candidate) {
    RuntimeException failure = failure("receive from " + port);
    if (failure == null) {
      failure = claim(candidate);
    }
    if (failure != null) {
      Operators.error(actual, failure);
    } else {
      candidate.begin();
    }
  }

  /** One live subscriber at a time; a cancelled one makes room at once. */
  private @Nullable IllegalStateException claim(InboxTap<?> candidate) {
    InboxTap<?> before = tap.claim(candidate);
    return before == null
        ? null
        : new IllegalStateException(
            "inbox "
                + port
                + " has a live subscriber: "
                + before.subscriber()
                + "; use share() to serve several");
  }

  @Override
  public boolean hasSubscriber() {
    return tap.live() != null;
  }

  // Loop: demand

  /** A tap has demand or was cancelled: publishes what it can take. */
  void serve(InboxTap<?> candidate) {
    RuntimeException failure = ending;
    if (failure != null || disposed) {
      candidate.settle(); // what it has taken goes out before its end
    }
    if (failure != null) { // while this one was on its way here
      candidate.fail(failure);
      return;
    }
    if (disposed) {
      candidate.complete();
      return;
    }
    InboxTap<?> before = active;
    if (before != candidate && before != null && !before.isOver()) {
      return; // the cancel of the one before is still on its way here, and serves again
    }
    active = candidate;
    while (candidate.allowance() > 0 && !candidate.isOver()) {
      Message message = kept.poll();
      if (message == null) {
        break;
      }
      keptCount = kept.size();
      candidate.message(message);
    }
    candidate.settle();
    publishDemand();
  }

  private void publishDemand() {
    if (index < 0) {
      return;
    }
    InboxTap<?> current = active;
    long demand = current == null || current.isOver() ? 0 : current.allowance();
    long requested = demand >= UNBOUNDED - dispatched ? UNBOUNDED : dispatched + demand;
    lane.requested(index, Math.max(requested, lane.delivered(index)));
    leaveInPlace(current != null && !current.isOver() && current.keepsMessages());
    loop.enterSoon();
  }

  /** Messages that were taken and not handed on are for the next subscriber, before all others. */
  void keepAgain(List<Message> messages) {
    for (int i = messages.size() - 1; i >= 0; i--) {
      kept.addFirst(messages.get(i));
    }
    keptCount = kept.size();
    InboxTap<?> current = active; // he may have come before the cancel did
    if (current != null && !current.isOver()) {
      current.schedule();
    }
  }

  int retainedLeft() {
    return Math.max(0, options.maxRetained() - retained);
  }

  /** One more is lent. */
  public void retain() {
    retained++;
  }

  /** {@code leaving} was cancelled, or is about to fail. */
  void left(InboxTap<?> leaving) {
    tap.leave(leaving);
    pause(leaving);
  }

  private void leaveInPlace(boolean on) {
    if (on != inPlace) {
      inPlace = on;
      Errors.check(
          lane.calls,
          lane.calls.laneZeroCopy(lane.handle, index, on ? 1 : 0),
          "zero copy at port " + port,
          loop.firstDevice());
    }
  }

  /** Cancel is pause. */
  void pause(InboxTap<?> leaving) {
    if (active == leaving) {
      active = null;
      publishDemand();
    }
  }

  // Loop: messages

  /** One MESSAGE record. */
  @Override
  public void message(RecordView view) {
    dispatched++;
    InboxTap<?> current = active;
    if (current == null || current.isOver() || current.allowance() == 0) {
      kept.add(view.copy());
      keptCount = kept.size();
    } else {
      current.message(view);
    }
  }

  /** The next message of those being dispatched, for the tap that was given the one before. */
  @Nullable RecordView next(InboxTap<?> taking) {
    if (active != taking || taking.isOver() || taking.allowance() == 0) {
      return null;
    }
    RecordView view = home.dispatcher.next(this);
    if (view != null) {
      dispatched++;
    }
    return view;
  }

  /** A lease came home: there may be room for the next. */
  void released() {
    retained--;
    InboxTap<?> current = active;
    if (current != null && !current.isOver()) {
      current.schedule();
    }
  }

  @Override
  public @Nullable NativeMemory store() {
    return store;
  }
}
