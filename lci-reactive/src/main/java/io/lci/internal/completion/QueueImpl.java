/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.completion;

import io.lci.am.Message;
import io.lci.completion.Completion;
import io.lci.completion.CompletionQueue;
import io.lci.completion.QueueOptions;
import io.lci.error.LciException;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.LoopSubscription;
import io.lci.internal.loop.Nudge;
import io.lci.internal.loop.SoleSubscriber;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.Layout;
import io.lci.nativebridge.NativeMemory;
import io.lci.nativebridge.NativeScratch;
import java.util.ArrayDeque;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Operators;

/**
 * A queue of the core. Whoever signals it is inside an enter of some loop, which then looks at it;
 * its home loop pops as many statuses as its subscriber has asked for.
 */
public final class QueueImpl extends CompletionObject implements CompletionQueue {
  /** Statuses popped by one call. */
  private static final int BATCH = 32;

  /**
   * Most that one drain hands on: another loop may fill the queue as fast as this one empties it.
   */
  private static final int TURN_BUDGET = 1024;

  private static final int STATUS_SLOTS = Layout.STATUS_SIZE / Long.BYTES;

  /** In the place of the queue's id in a status: the number of a message kept here. */
  private static final int KEPT_MESSAGE = 1 << 31;

  private final boolean mayBeFull;
  private final SoleSubscriber<Tap> tap = new SoleSubscriber<>();
  private final Map<Integer, Message> messages = new ConcurrentHashMap<>();
  private final AtomicInteger nextMessage = new AtomicInteger();

  /** Popped for a subscriber who then cancelled; size written by the loop. */
  private final ArrayDeque<Completion> popped = new ArrayDeque<>();

  private volatile int poppedCount;

  // Loop only
  private final NativeScratch statuses = new NativeScratch(BATCH * STATUS_SLOTS);

  private QueueImpl(CompletionObjects objects, EventLoop loop, long handle, boolean mayBeFull) {
    super(objects, loop, handle);
    this.mayBeFull = mayBeFull;
  }

  static QueueImpl create(CompletionObjects objects, EventLoop home, QueueOptions options) {
    CoreRuntime core = home.core();
    int kind =
        switch (options.kind()) {
          case DEFAULT -> Codes.QUEUE_DEFAULT;
          case ARRAY -> Codes.QUEUE_ARRAY;
          case LINKED -> Codes.QUEUE_LCRQ;
        };
    NativeScratch out = new NativeScratch(1);
    core.gate.ask(
        "create queue",
        LciException.NONE,
        () -> core.calls.queueCreateKind(core.handle, kind, options.capacity(), out.address(0)));
    return new QueueImpl(objects, home, out.getLong(0), options.kind() != QueueOptions.Kind.LINKED);
  }

  @Override
  public boolean mayBeFull() {
    return mayBeFull;
  }

  @Override
  public int keep(@Nullable Message message) {
    if (message == null) {
      return 0;
    }
    int number = nextMessage.getAndIncrement() | KEPT_MESSAGE;
    messages.put(number, message);
    return number;
  }

  @Override
  public void refused(int number) {
    messages.remove(number);
  }

  @Override
  public long length() {
    return poppedCount
        + core().gate.with(() -> isDisposed() ? 0L : core().calls.queueLength(handle()), 0L);
  }

  /** Something may have come: any thread, inside its loop's turn. */
  void look() {
    Tap current = tap.live();
    if (current == null || (loop.inLoop() && current.demand == 0)) {
      return;
    }
    if (length() == 0) {
      return; // or an idle loop would seem busy
    }
    if (loop.inLoop()) {
      current.schedule();
    } else {
      current.nudge.give();
    }
  }

  @Override
  public Flux<Completion> completions() {
    return new Flux<>() {
      @Override
      public void subscribe(CoreSubscriber<? super Completion> actual) {
        attach(new Tap(actual));
      }
    };
  }

  private void attach(Tap candidate) {
    if (isDisposed()) {
      Operators.error(candidate.actual, closed());
      return;
    }
    Tap before = tap.claim(candidate);
    if (before != null) {
      Operators.error(
          candidate.actual,
          new IllegalStateException("the queue has a live subscriber: " + before.subscriber()));
    } else {
      candidate.begin();
    }
  }

  private LciException closed() {
    return core().ending.gone("take from a queue", "queue", "Completions.queue makes another");
  }

  @Override
  void free() {
    Tap current = tap.live();
    if (current != null && current.activated) { // another one is told when it comes to the loop
      loop.deactivate(current);
      current.fail(closed());
    }
    popped.clear();
    poppedCount = 0;
    messages.clear();
    objects.forget(this);
  }

  // Loop only

  private @Nullable Completion take(long wanted) {
    if (popped.isEmpty()) {
      int most = (int) Math.min(wanted, BATCH);
      int count = core().calls.queuePopMany(handle(), statuses.address(0), most);
      for (int i = 0; i < count; i++) {
        popped.add(read(i * STATUS_SLOTS));
      }
    }
    Completion next = popped.poll();
    poppedCount = popped.size();
    return next;
  }

  private Completion read(int at) {
    long first = statuses.getLong(at + Layout.STATUS_CODE / Long.BYTES);
    int code = (int) first;
    int rank = (int) (first >>> 32);
    long tag = statuses.getLong(at + Layout.STATUS_TAG / Long.BYTES);
    long buffer = statuses.getLong(at + Layout.STATUS_BUFFER / Long.BYTES);
    long size = statuses.getLong(at + Layout.STATUS_SIZE_FIELD / Long.BYTES);
    long context = statuses.getLong(at + Layout.STATUS_CONTEXT / Long.BYTES);
    int port = (int) statuses.getLong(at + Layout.STATUS_PORT / Long.BYTES);
    LciException error = failure(code, rank, port);
    if (port != 0) {
      Message message = arrival(rank, tag, buffer, size);
      return new Completion(Completion.Kind.ARRIVAL, rank, tag, size, message, error, 0);
    }
    Message kept = (int) context < 0 ? messages.remove((int) context) : null;
    return new Completion(
        Completion.Kind.OPERATION, rank, tag, size, kept, error, (int) (context >>> 32));
  }

  private Message arrival(int rank, long tag, long buffer, long size) {
    byte[] bytes = new byte[Math.toIntExact(size)];
    if (size > 0) {
      NativeMemory.wrap(buffer, size).buffer().get(0, bytes);
    }
    core().calls.bufferFree(buffer);
    return new Message(rank, tag, bytes);
  }

  private final class Tap extends LoopSubscription<Completion> {
    private final Nudge nudge = new Nudge(loop, this);
    private boolean activated;

    Tap(CoreSubscriber<? super Completion> actual) {
      super(QueueImpl.this.loop, actual);
    }

    @Override
    public void drain() {
      if (isDisposed()) { // also one that came while it was disposed of
        loop.deactivate(this);
        fail(closed());
        return;
      }
      if (!activated && !isOver()) {
        activated = true;
        loop.activate(this);
      }
      for (int left = TURN_BUDGET; demand > 0 && !isOver(); left--) {
        if (left == 0) {
          nudge.give(); // the rest in the next turn
          return;
        }
        Completion next = take(demand);
        if (next == null) {
          return;
        }
        emit(next);
      }
    }

    @Override
    public void onCancel() {
      tap.leave(this);
      loop.deactivate(this);
    }
  }
}
