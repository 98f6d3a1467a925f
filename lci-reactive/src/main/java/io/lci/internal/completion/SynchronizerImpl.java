/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.completion;

import io.lci.completion.Completion;
import io.lci.completion.Synchronizer;
import io.lci.error.LciException;
import io.lci.internal.lane.Dispatcher;
import io.lci.internal.lane.Lane;
import io.lci.internal.lane.StatusSink;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.LoopSubscription;
import io.lci.internal.loop.SoleSubscriber;
import io.lci.nativebridge.NativeScratch;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;

/** A synchronizer of the core whose firings are recorded on its home loop's lane. */
public final class SynchronizerImpl extends CompletionObject implements Synchronizer, StatusSink {
  private final int threshold;
  private final SoleSubscriber<Waiter> waiter = new SoleSubscriber<>();

  // Loop only
  private List<Completion> collecting = new ArrayList<>();
  private final ArrayDeque<List<Completion>> firings = new ArrayDeque<>();

  private final Dispatcher dispatcher;

  private SynchronizerImpl(
      CompletionObjects objects, Dispatcher dispatcher, int threshold, long handle) {
    super(objects, dispatcher.loop, handle);
    this.dispatcher = dispatcher;
    this.threshold = threshold;
  }

  /** Creates the native object. Any thread: records come only after an operation named its id. */
  static SynchronizerImpl create(CompletionObjects objects, Dispatcher dispatcher, int threshold) {
    if (threshold < 1) {
      throw new IllegalArgumentException("threshold must be at least 1: " + threshold);
    }
    NativeScratch out = new NativeScratch(1);
    EventLoop loop = dispatcher.loop;
    Lane lane = dispatcher.lane;
    String operation = "create synchronizer";
    loop.core()
        .gate
        .ask(
            operation,
            loop.firstDevice(),
            () -> {
              if (loop.isDisposed()) {
                throw loop.closed(operation);
              }
              return lane.calls.laneSynchronizerCreate(lane.handle, threshold, out.address(0));
            });
    return new SynchronizerImpl(objects, dispatcher, threshold, out.getLong(0));
  }

  @Override
  public int threshold() {
    return threshold;
  }

  /** One SYNC record; {@code left} statuses of the firing follow. */
  @Override
  public void status(int code, int port, int rank, long tag, int size, int context, int left) {
    Completion.Kind kind = port == 0 ? Completion.Kind.OPERATION : Completion.Kind.ARRIVAL;
    collecting.add(new Completion(kind, rank, tag, size, null, failure(code, rank, port), context));
    if (left == 0) {
      firings.add(List.copyOf(collecting));
      collecting = new ArrayList<>(threshold);
      Waiter waiting = waiter.live();
      if (waiting != null) {
        waiting.schedule();
      }
    }
  }

  @Override
  public Mono<List<Completion>> next() {
    return new Mono<>() {
      @Override
      public void subscribe(CoreSubscriber<? super List<Completion>> actual) {
        attach(new Waiter(actual, true));
      }
    };
  }

  @Override
  public Flux<List<Completion>> firings() {
    return new Flux<>() {
      @Override
      public void subscribe(CoreSubscriber<? super List<Completion>> actual) {
        attach(new Waiter(actual, false));
      }
    };
  }

  private void attach(Waiter candidate) {
    if (isDisposed()) {
      Operators.error(candidate.actual, closed());
      return;
    }
    Waiter before = waiter.claim(candidate);
    if (before != null) {
      Operators.error(
          candidate.actual, new IllegalStateException("the synchronizer has a waiter: " + before));
    } else {
      candidate.begin();
    }
  }

  private LciException closed() {
    return core()
        .ending
        .gone("wait for synchronizer", "synchronizer", "Completions.synchronizer makes another");
  }

  @Override
  void free() {
    Waiter waiting = waiter.live();
    if (waiting != null && waiting.activated) { // another one is told when it comes to the loop
      loop.deactivate(waiting);
      waiting.fail(closed());
    }
    firings.clear();
    dispatcher.detach(this);
  }

  private final class Waiter extends LoopSubscription<List<Completion>> {
    private final boolean single;
    private boolean activated;

    Waiter(CoreSubscriber<? super List<Completion>> actual, boolean single) {
      super(SynchronizerImpl.this.loop, actual);
      this.single = single;
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
      while (demand > 0 && !isOver()) {
        List<Completion> firing = firings.poll();
        if (firing == null) {
          return;
        }
        if (single) {
          onCancel(); // before: whoever is told may ask for the next
        }
        emit(firing);
        if (single) {
          complete();
        }
      }
    }

    @Override
    public void onCancel() {
      waiter.leave(this);
      loop.deactivate(this);
    }
  }
}
