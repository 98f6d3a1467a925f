/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.lci.am.Inbox;
import io.lci.am.Port;
import io.lci.am.Sender;
import io.lci.completion.Counter;
import io.lci.completion.QueueOptions;
import io.lci.error.LciClosedException;
import io.lci.error.LciException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/** The end of a loop is told to everybody, and nobody holds it up. */
@ExtendWith(LciLeakCheck.class)
class LoopEndTest {
  private static final Port PORT = Port.of(44, "loop-end");
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final LciOptions AT_ONCE =
      LciOptions.builder().closeTimeout(Duration.ZERO).build();

  /** Counts its end, and asks for nothing. */
  private static final class Silent extends BaseSubscriber<Object> {
    final AtomicInteger completions = new AtomicInteger();
    final List<Throwable> errors = new ArrayList<>();

    @Override
    protected void hookOnSubscribe(Subscription subscription) {}

    @Override
    protected void hookOnComplete() {
      completions.incrementAndGet();
    }

    @Override
    protected void hookOnError(Throwable error) {
      errors.add(error);
    }
  }

  /** A round of work in the end of a loop may make the next one, for ever. */
  @Test
  void aTaskThatSchedulesItselfDoesNotHoldUpTheEnd() {
    LciTestJob job = LciTestJob.start(1, AT_ONCE);
    Scheduler scheduler = job.rank(0).loops().get(0).scheduler();
    AtomicReference<Runnable> again = new AtomicReference<>();
    again.set(() -> scheduler.schedule(again.get()));
    scheduler.schedule(again.get());
    job.close();
    assertThat(job.rank(0).isDisposed()).isTrue();
  }

  @Test
  void whoSubscribesWhileTheLoopEndsIsToldOfIt() {
    LciTestJob job = LciTestJob.start(1, AT_ONCE);
    LciRuntime lci = job.rank(0);
    AtomicInteger ended = new AtomicInteger();
    List<Publisher<?>> late =
        List.of(
            lci.completions().counter().reaches(1),
            lci.completions().queue(QueueOptions.defaults()).completions(),
            lci.completions().synchronizer(1).next(),
            lci.peerEvents());
    Counter never = lci.completions().counter();
    never
        .reaches(1)
        .subscribe(
            n -> {},
            closed ->
                late.forEach(
                    publisher ->
                        Flux.from(publisher)
                            .subscribe(
                                v -> {}, e -> ended.incrementAndGet(), ended::incrementAndGet)));
    job.close();
    assertThat(ended).hasValue(late.size());
  }

  /** What waits for the loop as soon as it is subscribed, or asked for something. */
  private static List<Publisher<?>> waiting(LciRuntime lci) {
    return List.of(
        lci.completions().counter().reaches(1),
        lci.completions().queue(QueueOptions.defaults()).completions(),
        lci.completions().synchronizer(1).next(),
        lci.completions().synchronizer(1).firings(),
        lci.peerEvents(),
        lci.peerGone(0),
        lci.completions().graph().build().run(),
        lci.world().exchange(new byte[1]),
        lci.world().barrier(),
        lci.drained(),
        lci.drainedEverywhere(),
        lci.barrier());
  }

  /** Asks for everything; returns who did. */
  private static List<Silent> ask(List<Publisher<?>> publishers) {
    List<Silent> asking = new ArrayList<>();
    for (Publisher<?> publisher : publishers) {
      Silent subscriber = new Silent();
      asking.add(subscriber);
      publisher.subscribe(subscriber);
      subscriber.requestUnbounded();
    }
    return asking;
  }

  private static void assertToldOnce(List<Silent> subscribers) {
    assertThat(subscribers)
        .isNotEmpty()
        .allSatisfy(one -> assertThat(one.completions.get() + one.errors.size()).isEqualTo(1));
  }

  /** That thread would still count as in the loop, which nobody drives any more. */
  @Test
  void whoSubscribesAfterTheEndOnTheThreadThatDroveTheLoopIsToldAtOnce() {
    LciOptions options = LciOptions.builder().invoker(true).closeTimeout(Duration.ZERO).build();
    LciTestJob job = LciTestJob.start(1, options);
    LciRuntime lci = job.rank(0);
    List<Publisher<?>> late = waiting(lci);
    Silent asksLate = new Silent();
    lci.barrier().subscribe(asksLate);
    lci.close();
    asksLate.request(1);
    assertToldOnce(List.of(asksLate));
    assertToldOnce(ask(late));
  }

  /** Who waits for the close is told by the loop that ended last. */
  @Test
  void whoSubscribesOnceTheRuntimeIsClosedIsToldAtOnce() {
    LciTestJob job = LciTestJob.start(1, AT_ONCE);
    LciRuntime lci = job.rank(0);
    List<Publisher<?>> late = waiting(lci);
    Mono<List<Silent>> asked =
        lci.onClose()
            .then(
                Mono.fromCallable(
                    () -> {
                      assertThat(lci.loops().get(0).inLoop()).isTrue();
                      return ask(late);
                    }));
    AtomicReference<List<Silent>> subscribers = new AtomicReference<>();
    AtomicReference<Throwable> failure = new AtomicReference<>();
    CountDownLatch over = new CountDownLatch(1);
    asked.doFinally(signal -> over.countDown()).subscribe(subscribers::set, failure::set);
    job.close();
    await().atMost(LIMIT).until(() -> over.getCount() == 0);
    assertThat(failure.get()).isNull();
    assertToldOnce(subscribers.get());
  }

  @Test
  void whoAsksForNothingIsToldOfTheEnd() {
    LciTestJob job = LciTestJob.start(1, AT_ONCE);
    LciRuntime lci = job.rank(0);
    AtomicInteger upstreams = new AtomicInteger();
    Flux<Integer> upstream = Flux.<Integer>never().doOnCancel(upstreams::incrementAndGet);
    Sender sender = lci.sender(PORT);
    List<Publisher<?>> failing =
        List.of(
            lci.inbox(PORT).receive(),
            lci.completions().counter().reaches(0),
            lci.completions().queue(QueueOptions.defaults()).completions(),
            lci.completions().synchronizer(1).firings(),
            sender.route(upstream, n -> 0, (n, out) -> out.putInt(n)),
            sender.sendAll(0, upstream, (n, out) -> out.putInt(n)),
            lci.post(upstream, n -> Op.barrier(), PostOptions.defaults()));
    List<Silent> silent = new ArrayList<>();
    for (Publisher<?> publisher : failing) {
      Silent subscriber = new Silent();
      silent.add(subscriber);
      publisher.subscribe(subscriber);
    }
    Silent events = new Silent();
    lci.peerEvents().subscribe(events);
    job.close();
    for (Silent subscriber : silent) {
      assertThat(subscriber.errors).singleElement().isInstanceOf(LciClosedException.class);
      assertThat(subscriber.completions).hasValue(0);
    }
    assertThat(events.completions).hasValue(1);
    assertThat(upstreams).hasValue(3);
  }

  @Test
  void whoAsksForNothingIsToldThatTheInboxWasDisposed() {
    try (LciTestJob job = LciTestJob.start(1)) {
      Inbox inbox = job.rank(0).inbox(PORT);
      Silent silent = new Silent();
      inbox.receive().subscribe(silent);
      inbox.dispose();
      inbox.onClose().block(LIMIT);
      await().atMost(LIMIT).until(() -> silent.completions.get() == 1); // told in the next turn
    }
  }

  /** On a loop that is not driven yet a port is opened later, and so are its subscriptions. */
  @Test
  void anInboxThatCannotBeOpenedFailsItsSubscriber() {
    LciOptions options = LciOptions.builder().invoker(true).build();
    LciTestJob job = LciTestJob.start(1, options);
    LciRuntime lci = job.rank(0);
    lci.completions().bind(PORT, lci.completions().queue(QueueOptions.defaults()));
    Inbox inbox = lci.inbox(PORT);
    AtomicReference<Throwable> told = new AtomicReference<>();
    inbox.receive().subscribe(m -> {}, told::set);
    for (int i = 0; i < 100 && told.get() == null; i++) {
      lci.loops().get(0).poll();
    }
    assertThat(told.get()).isInstanceOf(LciException.class).hasMessageContaining("open");
    lci.close();
  }

  @Test
  void whatIsAwaitedOfALoopThatEndsFails() {
    LciOptions options = LciOptions.builder().invoker(true).build();
    LciTestJob job = LciTestJob.start(1, options);
    LciRuntime lci = job.rank(0);
    AtomicBoolean cancelled = new AtomicBoolean();
    Mono<Integer> never = Mono.<Integer>never().doOnCancel(() -> cancelled.set(true));
    lci.abort();
    LciLoop loop = lci.loops().get(0);
    assertThatThrownBy(() -> loop.await(never, LIMIT)).isInstanceOf(LciClosedException.class);
    assertThat(cancelled).isTrue();
    assertThat(lci.isDisposed()).isTrue();
  }
}
