/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.lci.am.Inbox;
import io.lci.am.InboxOptions;
import io.lci.am.MessageView;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.am.Sender;
import io.lci.am.SenderOptions;
import io.lci.completion.QueueOptions;
import io.lci.completion.Synchronizer;
import io.lci.error.DeadlineExceededException;
import io.lci.internal.runtime.Runtimes;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.test.scheduler.VirtualTimeScheduler;

/** Loops as schedulers, loops that the user drives, loops that sleep. Mutation: skip_wake. */
@ExtendWith(LciLeakCheck.class)
class LoopTest {
  private static final Port PORT = Port.of(41, "loops");
  private static final Duration LIMIT = Duration.ofSeconds(60);

  @Test
  void theSchedulerRunsTasksInOrderAndOnTime() {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciLoop loop = job.rank(0).loops().get(0);
      Scheduler scheduler = loop.scheduler();
      List<Integer> ran = new CopyOnWriteArrayList<>();
      Disposable late = scheduler.schedule(() -> ran.add(3), 50, TimeUnit.MILLISECONDS);
      Disposable first = scheduler.schedule(() -> ran.add(1));
      Disposable second = scheduler.schedule(() -> ran.add(loop.inLoop() ? 2 : -2));
      // On the loop, so that it cannot be due before it is disposed
      scheduler.schedule(
          () -> scheduler.schedule(() -> ran.add(99), 1, TimeUnit.MILLISECONDS).dispose());
      AtomicInteger ticks = new AtomicInteger();
      Disposable periodic =
          scheduler.schedulePeriodically(ticks::incrementAndGet, 1, 1, TimeUnit.MILLISECONDS);
      await().atMost(LIMIT).until(() -> ran.size() == 3 && ticks.get() >= 10);
      periodic.dispose();
      assertThat(ran).containsExactly(1, 2, 3);
      assertThat(List.of(first, second, late)).allMatch(Disposable::isDisposed);
      assertThat(loop.inLoop()).isFalse();
    }
  }

  @Test
  void disposingTheViewDoesNotStopTheLoop() {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciLoop loop = job.rank(0).loops().get(0);
      Scheduler view = loop.scheduler();
      AtomicInteger ran = new AtomicInteger();
      Disposable delayed = view.schedule(ran::incrementAndGet, 10, TimeUnit.SECONDS);
      view.dispose();
      assertThat(delayed.isDisposed()).isTrue();
      assertThatThrownBy(() -> view.schedule(() -> {}))
          .isInstanceOf(RejectedExecutionException.class);
      assertThat(Mono.fromCallable(loop::inLoop).subscribeOn(loop.scheduler()).block(LIMIT))
          .isTrue();
      assertThat(ran.get()).isZero();
    }
  }

  @Test
  void publishOnALoopKeepsEveryElement() {
    try (LciTestJob job = LciTestJob.start(1)) {
      Scheduler scheduler = job.rank(0).loops().get(0).scheduler();
      assertThat(Flux.range(0, 100_000).publishOn(scheduler).count().block(LIMIT))
          .isEqualTo(100_000);
    }
  }

  @Test
  void anInvokerLoopIsDrivenByTheUser() {
    long handle = Runtimes.createJob(1);
    LciRuntime runtime = Runtimes.create(LciOptions.builder().invoker(true).build(), handle, 0);
    Runtimes.freeJob(handle);
    LciLoop loop = runtime.loops().get(0);
    int count = 10_000;
    Mono<Long> received =
        runtime.inbox(PORT).receive(m -> m.getLong(0)).take(count).reduce(0L, Long::sum);
    Mono<Void> sent =
        runtime.sender(PORT).sendAll(0, Flux.range(0, count), (n, out) -> out.putLong(n));
    Long total =
        loop.await(Mono.zip(received, sent.thenReturn(1)).map(both -> both.getT1()), LIMIT);
    assertThat(total).isEqualTo((long) count * (count - 1) / 2);
    assertThat(loop.inLoop()).isTrue();
    assertThatThrownBy(() -> runtime.barrier().block(LIMIT))
        .isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> loop.await(Mono.never(), Duration.ofMillis(50)))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("nothing came");
    assertThatThrownBy(() -> loop.await(Mono.error(new IllegalArgumentException("mine")), LIMIT))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("mine");
    Mono<Integer> nested = Mono.fromCallable(loop::poll).subscribeOn(loop.scheduler());
    assertThatThrownBy(() -> loop.await(nested, LIMIT)).hasMessageContaining("from a signal");
    runtime.close();
    assertThat(runtime.isDisposed()).isTrue();
    // This thread may block again.
    assertThat(Mono.delay(Duration.ofMillis(1)).block(LIMIT)).isZero();
  }

  /** Nothing but polls: no park notices what they miss. */
  @Test
  void pollsAloneBringEverything() {
    try (LciTestJob job = LciTestJob.start(2, LciOptions.builder().invoker(true).build());
        PollingOwner owner = new PollingOwner(job)) {
      Payload large = Payload.of(new byte[100_000]);
      List<Integer> sizes = new ArrayList<>();
      List<Throwable> failures = new ArrayList<>();
      for (int round = 0; round < 20; round++) {
        job.rank(0).sender(PORT).send(1, large).subscribe(none -> {}, failures::add);
        if (round == 0) {
          owner.poll(); // announced to a port that is not open
          job.rank(1).inbox(PORT).receive(MessageView::size).subscribe(sizes::add, closed -> {});
        }
        while (sizes.size() == round && failures.isEmpty()) {
          owner.poll();
        }
      }
      assertThat(failures).isEmpty();
      assertThat(sizes).hasSize(20).containsOnly(100_000);
    }
  }

  /** The difference of two times must not wrap, or it sorts before what is due. */
  @Test
  void aTaskForNeverDoesNotHoldUpOthers() {
    try (LciTestJob job = LciTestJob.start(1, LciOptions.builder().invoker(true).build());
        PollingOwner owner = new PollingOwner(job)) {
      Scheduler scheduler = job.rank(0).loops().get(0).scheduler();
      AtomicBoolean ran = new AtomicBoolean();
      scheduler.schedule(() -> ran.set(true), 1, TimeUnit.NANOSECONDS);
      long before = System.nanoTime();
      while (System.nanoTime() - before < 2) {
        Thread.onSpinWait(); // the first one is due before the second one is scheduled
      }
      Disposable never = scheduler.schedule(() -> {}, Long.MAX_VALUE, TimeUnit.NANOSECONDS);
      owner.poll();
      assertThat(ran).isTrue();
      never.dispose();
    }
  }

  /** Whoever waits for his loop hears of what others give it, and of the end of his time. */
  @Test
  void aPollThatWaitsWakesForATask() throws InterruptedException {
    try (LciTestJob job = LciTestJob.start(1, LciOptions.builder().invoker(true).build())) {
      LciRuntime lci = job.rank(0);
      LciLoop loop = lci.loops().get(0);
      while (loop.poll(Duration.ofMillis(1)) > 0) {
        // until there is nothing left of the start
      }
      assertThat(loop.poll(Duration.ofMillis(1))).isZero();
      assertThat(loop.poll(Duration.ofSeconds(-1))).isZero();
      AtomicBoolean ran = new AtomicBoolean();
      Thread giving =
          new Thread(
              () -> {
                long parks = lci.snapshot().counter("loop_parks");
                await().atMost(LIMIT).until(() -> lci.snapshot().counter("loop_parks") > parks);
                loop.scheduler().schedule(() -> ran.set(true));
              });
      giving.start();
      int work = 0;
      for (int i = 0; i < 1000 && !ran.get(); i++) { // others may wake it, too
        work = loop.poll(LIMIT);
      }
      assertThat(ran).isTrue();
      assertThat(work).isPositive();
      giving.join();
      lci.close();
      assertThat(loop.poll(LIMIT)).isZero(); // it has ended
    }
  }

  /** It is told although the operation is accepted before its subscriber is. */
  @Test
  void aDeadlineThatPassesInTheArrayIsTold() {
    VirtualTimeScheduler clock = VirtualTimeScheduler.create();
    LciOptions options = LciOptions.builder().invoker(true).timer(clock).build();
    try (LciTestJob job = LciTestJob.start(1, options);
        PollingOwner owner = new PollingOwner(job)) {
      LciRuntime lci = job.rank(0);
      LciLoop loop = lci.loops().get(0);
      AtomicReference<Throwable> told = new AtomicReference<>();
      AtomicBoolean begun = new AtomicBoolean();
      Op unmatched = Op.receive(0, 1, 8).deadline(LIMIT);
      // What begins in the last signals of a turn is in the array until the next one.
      lci.barrier()
          .subscribe(
              none -> {},
              told::set,
              () -> {
                lci.post(unmatched).subscribe(c -> {}, told::set);
                begun.set(true);
              });
      while (!begun.get()) {
        owner.poll();
      }
      clock.advanceTimeBy(LIMIT); // its task comes first, then the one that sends the array
      loop.scheduler().schedule(() -> loop.poster().flush());
      for (int i = 0; i < 100 && told.get() == null; i++) {
        owner.poll();
      }
      assertThat(told.get()).isInstanceOf(DeadlineExceededException.class);
      for (int i = 0; i < 100; i++) {
        owner.poll(); // the receive is cancelled
      }
      assertThat(lci.snapshot().counter("receives_pending")).isZero();
    }
  }

  @Test
  void aPollWithNothingToDoSaysSo() {
    try (LciTestJob job = LciTestJob.start(1, LciOptions.builder().invoker(true).build());
        PollingOwner owner = new PollingOwner(job)) {
      job.rank(0)
          .completions()
          .queue(QueueOptions.defaults())
          .completions()
          .subscribe(c -> {}, closed -> {});
      job.rank(0).inbox(PORT).receive().subscribe(m -> {}, closed -> {});
      int empty = 0;
      while (empty < 100) { // in a row
        empty = owner.poll() == 0 ? empty + 1 : 0;
      }
      assertThat(empty).isEqualTo(100);
    }
  }

  /** The thread that drives the loops of a job closes them too: no other may while it lives. */
  private record PollingOwner(LciTestJob job) implements AutoCloseable {
    int poll() {
      return job.ranks().stream().mapToInt(rank -> rank.loops().get(0).poll()).sum();
    }

    @Override
    public void close() {
      job.ranks().forEach(LciRuntime::close);
    }
  }

  /**
   * What another loop's thread leaves is no message: it must ring, or only a park would find it.
   */
  @Test
  void loopsThatNeverSleepHearEachOther() {
    LciOptions awake = LciOptions.builder().loops(2).idleYields(Integer.MAX_VALUE).build();
    try (LciTestJob job = LciTestJob.start(1, awake)) {
      LciRuntime lci = job.rank(0);
      Inbox inbox = lci.inbox(PORT, InboxOptions.builder().loop(0).messages(1).build());
      Sender sender = lci.sender(PORT, SenderOptions.builder().loop(1).build());
      Synchronizer fired = lci.completions().synchronizer(1);
      Mono<Long> received = inbox.receive(m -> m.getInt(0)).take(10).count();
      Mono<Void> sent = sender.sendAll(0, Flux.range(0, 10), (n, out) -> out.putInt(n));
      assertThat(Mono.zip(received, sent.thenReturn(1)).block(LIMIT).getT1()).isEqualTo(10);
      Op send = Op.send(0, 1, Payload.ofInt(1)).advanced(a -> a.device(1));
      Mono.when(
              lci.post(Op.receive(0, 1, 4).advanced(a -> a.device(1)).completeTo(fired)),
              fired.next(),
              lci.post(send))
          .block(LIMIT);
      assertThat(lci.snapshot().counter("loop_parks")).isZero();
    }
  }

  @Test
  void pollIsForInvokerLoopsOnly() {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciLoop loop = job.rank(0).loops().get(0);
      assertThatThrownBy(loop::poll).isInstanceOf(IllegalStateException.class);
      assertThatThrownBy(() -> loop.await(Mono.empty(), LIMIT))
          .isInstanceOf(IllegalStateException.class);
    }
  }

  @Test
  void anIdleLoopSleepsAndHearsEveryWakeSource() throws InterruptedException {
    try (LciTestJob job = LciTestJob.start(2)) {
      long received = 0;
      var inbox = job.rank(1).inbox(PORT);
      for (int round = 0; round < 50; round++) {
        awaitParked(job.rank(1));
        // request(n) from this thread, then the arrival, wake the sleeping loop.
        Mono<Long> next = inbox.receive(m -> m.getLong(0)).next();
        int value = round;
        received +=
            Mono.zip(
                    next,
                    Mono.delay(Duration.ofMillis(1))
                        .then(job.rank(0).sender(PORT).send(1, Payload.ofLong(value)))
                        .thenReturn(1))
                .block(LIMIT)
                .getT1();
      }
      assertThat(received).isEqualTo(50 * 49 / 2);
      assertThat(job.rank(1).snapshot().counter("late_wakes")).isZero();
    }
  }

  private static void awaitParked(LciRuntime runtime) {
    long before = runtime.snapshot().counter("loop_parks");
    await()
        .atMost(LIMIT)
        .pollInterval(Duration.ofMillis(1))
        .until(() -> runtime.snapshot().counter("loop_parks") > before);
  }

  @Test
  void severalLoopsServeTheirOwnDevices() {
    int loops = 3;
    int count = 20_000;
    try (LciTestJob job = LciTestJob.start(2, LciOptions.builder().loops(loops).build())) {
      Flux<Long> received =
          Flux.range(0, loops)
              .flatMap(
                  i ->
                      job.rank(1)
                          .inbox(Port.of(100 + i, "p" + i), InboxOptions.builder().loop(i).build())
                          .receive(
                              m -> {
                                assertThat(Thread.currentThread().getName())
                                    .isEqualTo("lci-loop-" + i);
                                return m.getLong(0);
                              })
                          .take(count)
                          .count());
      // Every loop sends to the port whose home is the next one: arrivals are pushed to their home.
      Mono<Void> sent =
          Flux.range(0, loops)
              .flatMap(
                  i -> {
                    int to = (i + 1) % loops;
                    return job.rank(0)
                        .sender(
                            Port.of(100 + to, "p" + to), SenderOptions.builder().loop(i).build())
                        .sendAll(1, Flux.range(0, count), (n, out) -> out.putLong(n));
                  })
              .then();
      assertThat(Mono.zip(received.reduce(0L, Long::sum), sent.thenReturn(1)).block(LIMIT).getT1())
          .isEqualTo((long) loops * count);
    }
  }
}
