/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.LciOptions;
import io.lci.PostResult;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.error.LciClosedException;
import io.lci.internal.core.ReservedPorts;
import io.lci.internal.runtime.RuntimeImpl;
import io.lci.nativebridge.Codes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.scheduler.Scheduler;
import reactor.test.scheduler.VirtualTimeScheduler;

/** What a graceful close waits for, and what it does not, over a core that the test answers for. */
class GracefulCloseTest {
  private static final Port PORT = Port.of(5, "graceful");

  /** Longer than any test: who waits so long is stopped by the test's own limit. */
  private static final Duration LIMIT = Duration.ofDays(1);

  private final VirtualTimeScheduler clock = VirtualTimeScheduler.create();
  private final ScriptedCore core = new ScriptedCore();
  private final RuntimeImpl runtime =
      new RuntimeImpl(
          core.calls,
          core.layout,
          1,
          LciOptions.builder().invoker(true).closeTimeout(Duration.ZERO).timer(clock).build());
  private final List<Object> discarded = new ArrayList<>();
  private final Asking results = new Asking();

  @AfterEach
  void close() {
    runtime.close();
  }

  private void turns(int count) {
    for (int i = 0; i < count; i++) {
      runtime.loops.all.get(0).poll();
    }
  }

  private void closeGracefully() {
    runtime.disposeGracefully(LIMIT).subscribe();
  }

  /** Hears of results as it asks for them. */
  private static final class Asking extends BaseSubscriber<PostResult<Integer>> {
    final List<Integer> items = new ArrayList<>();
    final List<Throwable> errors = new ArrayList<>();
    int completions;

    @Override
    protected void hookOnSubscribe(Subscription subscription) {}

    @Override
    protected void hookOnNext(PostResult<Integer> result) {
      items.add(result.item());
    }

    @Override
    protected void hookOnError(Throwable error) {
      errors.add(error);
    }

    @Override
    protected void hookOnComplete() {
      completions++;
    }
  }

  private void send(Publisher<Integer> items) {
    runtime
        .sender(PORT)
        .route(items, n -> 1, (n, out) -> out.putInt(n))
        .doOnDiscard(Object.class, discarded::add)
        .subscribe(results);
  }

  @Test
  void resultsAreDeliveredToWhoAsksForThemWithinTheLimit() {
    send(Flux.range(0, 3));
    results.request(1);
    turns(3);
    closeGracefully();
    turns(5);
    assertThat(results.items).containsExactly(0);
    assertThat(results.errors).isEmpty();
    assertThat(runtime.isDisposed()).isFalse();
    results.request(1);
    turns(5);
    assertThat(results.items).containsExactly(0, 1);
    assertThat(runtime.isDisposed()).isFalse();
    results.request(1);
    turns(5);
    assertThat(results.items).containsExactly(0, 1, 2);
    assertThat(results.completions).isEqualTo(1);
    assertThat(results.errors).isEmpty();
    assertThat(runtime.isDisposed()).isTrue();
    assertThat(discarded).isEmpty();
    assertThat(runtime.snapshot().counter("loop_late_data")).isZero();
  }

  @Test
  void theLimitRunsOnTheTimerOfTheOptions() {
    send(Flux.range(0, 3));
    results.request(1);
    turns(3);
    closeGracefully();
    clock.advanceTimeBy(LIMIT.minusNanos(1));
    turns(5);
    assertThat(runtime.isDisposed()).isFalse();
    clock.advanceTimeBy(Duration.ofNanos(1));
    turns(5);
    assertThat(runtime.isDisposed()).isTrue();
    assertThat(results.errors).singleElement().isInstanceOf(LciClosedException.class);
  }

  @Test
  void resultsThatNobodyAskedForInTimeAreCountedAndTheEndIsAnError() {
    send(Flux.range(0, 3));
    results.request(1);
    turns(3);
    closeGracefully();
    turns(5);
    runtime.abort();
    turns(3);
    assertThat(runtime.isDisposed()).isTrue();
    assertThat(results.items).containsExactly(0);
    assertThat(results.completions).isZero();
    assertThat(results.errors).singleElement().isInstanceOf(LciClosedException.class);
    assertThat(discarded).hasSize(2).allMatch(PostResult.class::isInstance);
    assertThat(runtime.snapshot().counter("loop_late_data")).isEqualTo(2);
  }

  /** He who waits for a subscriber that left would wait for ever. */
  @Test
  void resultsOfACancelledSubscriberAreNotWaitedFor() {
    send(Flux.range(0, 3));
    results.request(1);
    turns(3);
    closeGracefully();
    turns(3);
    results.cancel();
    turns(5);
    assertThat(runtime.isDisposed()).isTrue();
  }

  /** A source may go on until its cancel comes to it, and end then as if nothing were lost. */
  @Test
  void whatComesAfterTheCloseBeganDoesNotEndAsIfItWereSent() {
    Source source = new Source();
    send(source);
    results.request(Long.MAX_VALUE);
    turns(2);
    runtime.loops.all.get(0).execute(() -> source.subscriber.onNext(1));
    turns(2);
    closeGracefully();
    runtime
        .loops
        .all
        .get(0)
        .execute(
            () -> {
              source.subscriber.onNext(2);
              source.subscriber.onComplete();
            });
    turns(8);
    assertThat(source.cancelled).isTrue();
    assertThat(results.items).containsExactly(1);
    assertThat(discarded).containsExactly(2);
    assertThat(results.completions).isZero();
    assertThat(results.errors).singleElement().isInstanceOf(LciClosedException.class);
    assertThat(runtime.isDisposed()).isTrue();
  }

  private static final class Source implements Publisher<Integer> {
    private Subscriber<? super Integer> subscriber;
    private boolean cancelled;

    @Override
    public void subscribe(Subscriber<? super Integer> actual) {
      subscriber = actual;
      actual.onSubscribe(
          new Subscription() {
            @Override
            public void request(long n) {}

            @Override
            public void cancel() {
              cancelled = true;
            }
          });
    }
  }

  /** It used to be given to a sender that took no more, and to count as on its way. */
  @Test
  void aCallThatComesTooLateIsNotOnItsWay() {
    core.script = submitted -> Codes.RETRY_NOCREDIT;
    List<String> ends = new ArrayList<>();
    call("early", ends);
    turns(4);
    assertThat(ends).containsExactly("early");
    closeGracefully();
    call("late", ends);
    turns(8);
    assertThat(ends).containsExactly("early");
    core.script = submitted -> Codes.DONE;
    core.writable(1, ReservedPorts.SESSIONS.number(), 1);
    turns(8);
    assertThat(runtime.isDisposed()).isTrue();
    assertThat(ends).containsExactly("early", "late: LciClosedException");
  }

  private void call(String name, List<String> ends) {
    runtime
        .rpc()
        .fireAndForget(1, name, Payload.empty())
        .subscribe(
            none -> {},
            error -> ends.add(name + ": " + error.getClass().getSimpleName()),
            () -> ends.add(name));
  }

  @Test
  void aTaskThatSchedulesItselfIsNotWaitedFor() {
    Scheduler scheduler = runtime.loops.all.get(0).scheduler();
    AtomicReference<Runnable> again = new AtomicReference<>();
    again.set(() -> scheduler.schedule(again.get()));
    scheduler.schedule(again.get());
    turns(1);
    List<String> ran = new ArrayList<>();
    scheduler.schedule(() -> ran.add("before"));
    closeGracefully();
    for (int i = 0; i < 8 && !runtime.isDisposed(); i++) {
      turns(1);
    }
    assertThat(runtime.isDisposed()).isTrue();
    assertThat(ran).containsExactly("before");
  }
}
