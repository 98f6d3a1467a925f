/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.completion.Completion;
import io.lci.completion.Synchronizer;
import io.lci.error.LciException;
import io.lci.error.LciException.Detail;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.NativeScratch;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;

/** A synchronizer of the core whose firings are recorded on its home loop's lane. */
final class SynchronizerImpl implements Synchronizer, NativeTarget {
  private final EventLoop loop;
  private final int threshold;
  private final long handle;
  private final int id;
  private final AtomicReference<@Nullable Waiter> waiter = new AtomicReference<>();
  private volatile boolean disposed;

  // Loop only
  private List<Completion> collecting = new ArrayList<>();
  private final ArrayDeque<List<Completion>> firings = new ArrayDeque<>();

  /** Creates the native object. Any thread: records come only after an operation named its id. */
  SynchronizerImpl(EventLoop loop, int threshold) {
    if (threshold < 1) {
      throw new IllegalArgumentException("threshold must be at least 1: " + threshold);
    }
    this.loop = loop;
    this.threshold = threshold;
    NativeScratch out = new NativeScratch(1);
    Lane lane = loop.lane();
    Errors.check(
        lane.calls,
        lane.calls.laneSynchronizerCreate(lane.handle, threshold, out.address(0)),
        "create synchronizer",
        loop.index());
    handle = out.getLong(0);
    id = lane.calls.compId(handle);
  }

  @Override
  public int threshold() {
    return threshold;
  }

  @Override
  public int id() {
    return id;
  }

  @Override
  public long handle() {
    return handle;
  }

  /** One SYNC record; {@code left} statuses of the firing follow. */
  void status(int code, int port, int rank, long tag, int size, int left) {
    LciException error =
        code == Codes.DONE
            ? null
            : Errors.of(
                new Detail(
                    "signal",
                    rank,
                    port,
                    loop.index(),
                    Errors.name(loop.lane().calls, code),
                    Errors.hint(code)),
                code);
    Completion.Kind kind = port == 0 ? Completion.Kind.OPERATION : Completion.Kind.ARRIVAL;
    collecting.add(new Completion(kind, rank, tag, size, null, error));
    if (left == 0) {
      firings.add(List.copyOf(collecting));
      collecting = new ArrayList<>(threshold);
      Waiter waiting = waiter.get();
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
    while (true) {
      Waiter current = waiter.get();
      if (disposed) {
        Operators.error(candidate.actual, Errors.closed("wait for synchronizer"));
        return;
      }
      if (current != null && !current.isOver()) {
        Operators.error(
            candidate.actual,
            new IllegalStateException("the synchronizer has a waiter: " + current));
        return;
      }
      if (waiter.compareAndSet(current, candidate)) {
        candidate.actual.onSubscribe(candidate);
        return;
      }
    }
  }

  @Override
  public void dispose() {
    if (!disposed) {
      disposed = true;
      loop.execute(this::free);
    }
  }

  @Override
  public boolean isDisposed() {
    return disposed;
  }

  private void free() {
    Waiter waiting = waiter.get();
    if (waiting != null) {
      waiting.fail(Errors.closed("wait for synchronizer"));
    }
    firings.clear();
    loop.dispatcher().detach(this);
    loop.runtime().freeComp(handle);
  }

  private final class Waiter extends LoopSubscription<List<Completion>> {
    private final boolean single;
    private boolean activated;

    Waiter(CoreSubscriber<? super List<Completion>> actual, boolean single) {
      super(SynchronizerImpl.this.loop, actual);
      this.single = single;
    }

    @Override
    void drain() {
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
          loop.deactivate(this);
        }
        emit(firing);
        if (single) {
          complete();
        }
      }
    }

    @Override
    void onCancel() {
      loop.deactivate(this);
    }
  }
}
