/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.collective;

import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.LoopSubscription;
import io.lci.internal.loop.LoopTask;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Exceptions;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;

/**
 * A run of a plan for each tick. At most depth runs have begun and are not done with: a run is done
 * with when it was emitted and the next number is requested. Loop only.
 */
final class PlanRuns extends LoopSubscription<Long> {
  /** A run that has begun. */
  private static final class Run {
    @Nullable Long number;
    boolean ended;
  }

  private final PlanImpl plan;
  private final Publisher<?> ticks;
  private final Deque<Run> begun = new ArrayDeque<>();
  private @Nullable Source source;

  private boolean subscribed;

  /** A tick was asked for, and has not come. */
  private boolean asked;

  private boolean exhausted;
  private @Nullable Throwable failure;

  PlanRuns(EventLoop loop, CoreSubscriber<? super Long> actual, PlanImpl plan, Publisher<?> ticks) {
    super(loop, actual);
    this.plan = plan;
    this.ticks = ticks;
  }

  @Override
  public void drain() {
    if (isOver()) {
      return;
    }
    subscribe();
    while (demand > 0 && !begun.isEmpty() && begun.peek().number != null && !isOver()) {
      emit(Objects.requireNonNull(begun.remove().number));
    }
    if (isOver()) {
      return;
    }
    Run first = begun.peek();
    if (exhausted && begun.isEmpty()) {
      end(null);
    } else if (failure != null && (first == null || first.ended && first.number == null)) {
      end(failure);
    } else {
      ask();
    }
  }

  private void subscribe() {
    if (source == null && isWanted()) {
      loop.activate(this);
      Source made = new Source();
      source = made;
      guarded(() -> Flux.from(ticks).subscribe(made));
    }
  }

  /**
   * For one more tick, if a run may begin. The last set of memory is free with the next request.
   */
  private void ask() {
    int most = demand > 0 ? plan.depth() : plan.depth() - 1;
    if (source != null
        && subscribed
        && !asked
        && !exhausted
        && failure == null
        && begun.size() < most) {
      asked = true;
      Source from = source;
      guarded(() -> from.request(1));
    }
  }

  /** The program's code must not throw there; whoever waits for its ticks is to hear of it. */
  private void guarded(Runnable step) {
    try {
      step.run();
    } catch (Throwable e) {
      Exceptions.throwIfJvmFatal(e);
      failed(e);
    }
  }

  private void end(@Nullable Throwable reason) {
    onCancel();
    if (reason != null) {
      fail(reason);
    } else {
      complete();
    }
  }

  @Override
  public void onCancel() {
    loop.deactivate(this);
    if (source != null) {
      loop.guarded(source::cancel);
    }
  }

  // On the loop

  /** Perhaps long after it was asked to. */
  private void subscribed() {
    subscribed = true;
    schedule();
  }

  private void ticked() {
    if (isOver() || failure != null) {
      return;
    }
    if (!asked) { // there may be no memory for its run, nor room for those that follow
      failed(Exceptions.failWithOverflow("more ticks came than were asked for"));
      return;
    }
    asked = false;
    Run run = new Run();
    begun.add(run);
    plan.numbered()
        .subscribe(
            number -> {
              run.number = number;
              run.ended = true;
              schedule();
            },
            error -> {
              run.ended = true;
              failed(error);
            });
    schedule(); // another one may begin
  }

  private void failed(Throwable reason) {
    if (failure == null) {
      failure = reason;
    }
    schedule();
  }

  private void exhausted() {
    exhausted = true;
    schedule();
  }

  /** The ticks, from any thread. */
  private final class Source extends BaseSubscriber<Object> {
    @Override
    protected void hookOnSubscribe(Subscription subscription) {
      here(PlanRuns.this::subscribed);
    }

    @Override
    protected void hookOnNext(Object tick) {
      here(PlanRuns.this::ticked);
    }

    @Override
    protected void hookOnError(Throwable error) {
      here(() -> failed(error));
    }

    @Override
    protected void hookOnComplete() {
      here(PlanRuns.this::exhausted);
    }

    private void here(Runnable what) {
      loop.execute(
          new LoopTask() {
            @Override
            public void run() {
              what.run();
            }

            @Override
            public void rejected() {
              // the subscription ends with the loop
            }
          });
    }
  }
}
