/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.post;

import io.lci.internal.loop.Awaiter;
import io.lci.internal.loop.Countdown;
import io.lci.internal.loop.Drainable;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.LoopTask;
import io.lci.internal.loop.PerLoop;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;

/** When all that this rank had posted has ended and left, over all loops. Any thread. */
public final class Fences {
  private final PerLoop<Outbox> outboxes;

  public Fences(PerLoop<Outbox> outboxes) {
    this.outboxes = outboxes;
  }

  /** Told on loop 0; goes on when the subscriber leaves. */
  public Mono<Void> drained() {
    EventLoop home = outboxes.get(0).loop;
    return new Mono<>() {
      @Override
      public void subscribe(CoreSubscriber<? super Void> actual) {
        if (home.isDisposed()) {
          Operators.error(actual, home.closed("drained"));
          return;
        }
        Awaiter<Void> waiter = new Awaiter<>(home, actual);
        waiter.begin();
        passed(outboxes.all(), outbox -> {})
            .subscribe(null, waiter::failed, () -> waiter.arrived(null));
      }
    };
  }

  /**
   * Begins at subscription, and completes on the loop that was the last to pass.
   *
   * @param loops of this runtime
   * @param atEach called on each loop when what it had posted has left
   */
  public Mono<Void> passed(List<Outbox> loops, Consumer<? super Outbox> atEach) {
    return Mono.create(
        sink -> {
          Countdown all = new Countdown(loops.size(), sink);
          for (Outbox outbox : loops) {
            outbox.loop.execute(
                new Start(
                    outbox,
                    reason -> {
                      if (reason == null) {
                        atEach.accept(outbox);
                      }
                      all.ended(reason);
                    }));
          }
        });
  }

  /** Behind the tasks of the loop, and then behind the signals that they brought. */
  private static final class Start extends Drainable implements LoopTask {
    private final Outbox outbox;
    private final Consumer<@Nullable Throwable> ended;

    Start(Outbox outbox, Consumer<@Nullable Throwable> ended) {
      this.outbox = outbox;
      this.ended = ended;
    }

    @Override
    public void run() {
      outbox.loop.markReady(this);
    }

    @Override
    public void rejected() {
      ended.accept(outbox.loop.closed("drained"));
    }

    @Override
    public void drain() {
      if (outbox.loop.isClosing()) {
        rejected();
        return;
      }
      try {
        outbox.loop.watch(new LoopFence(outbox, ended));
      } catch (RuntimeException e) { // the core has no memory for it
        ended.accept(e);
      }
    }
  }
}
