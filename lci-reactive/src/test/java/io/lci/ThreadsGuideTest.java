/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;

import io.lci.am.Inbox;
import io.lci.am.InboxOptions;
import io.lci.am.Port;
import io.lci.am.Sender;
import io.lci.am.SenderOptions;
import io.lci.completion.Completion;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.blockhound.BlockHound;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/** The snippets of {@code docs/guide/threads.md}. */
@ExtendWith(LciLeakCheck.class)
public class ThreadsGuideTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final Port ORDERS = Port.of(31, "orders");

  private static Mono<Void> send(LciRuntime from, int count) {
    return from.sender(ORDERS).sendAll(1, Flux.range(0, count), (n, out) -> out.tag(n).putInt(n));
  }

  private static String findOwner(int order) {
    return "owner of " + order;
  }

  @Test
  void leavingTheLoop() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(1);
      // show: leave
      Flux<String> owners =
          lci.inbox(ORDERS)
              .receive(m -> m.getInt(0)) // on the loop: short, and blocks nowhere
              .publishOn(Schedulers.boundedElastic()) // from here on it may take its time
              .map(order -> findOwner(order));
      // end
      Mono<List<String>> three = owners.take(3).collectList();
      assertThat(three.zipWith(send(job.rank(0), 3).thenReturn(1)).block(LIMIT).getT1()).hasSize(3);
    }
  }

  @Test
  void loopsThatAreAdded() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      // show: addLoop
      LciLoop added = lci.addLoop();
      Sender sender = lci.sender(ORDERS, SenderOptions.builder().loop(added.index()).build());
      // end
      Mono<Integer> order = job.rank(1).inbox(ORDERS).receive(m -> m.getInt(0)).next().cache();
      order.subscribe();
      Mono<Void> sent = sender.sendAll(1, Flux.just(9), (n, out) -> out.putInt(n)).cache(); // waits
      sent.subscribe();
      job.rank(1).addLoop();
      sent.block(LIMIT);
      assertThat(order.block(LIMIT)).isEqualTo(9);
    }
  }

  @Test
  void signalsElsewhere() {
    ExecutorService executor = Executors.newSingleThreadExecutor(r -> new Thread(r, "mine"));
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      // show: signalOn
      Scheduler mine = Schedulers.fromExecutorService(executor);
      Mono<Completion> done = lci.post(Op.barrier().signalOn(mine));
      Inbox inbox = lci.inbox(ORDERS, InboxOptions.builder().signalOn(mine).build());
      // end
      assertThat(done.map(c -> Thread.currentThread().getName()).block(LIMIT)).isEqualTo("mine");
      inbox.dispose();
    } finally {
      executor.shutdown();
    }
  }

  private final List<String> readers = new CopyOnWriteArrayList<>();

  private Stream<Integer> readOrders() {
    return IntStream.range(0, 1_000)
        .peek(n -> readers.add(Thread.currentThread().getName()))
        .boxed();
  }

  @Test
  void aSourceThatBlocks() {
    try (LciTestJob job = LciTestJob.start(2)) {
      LciRuntime lci = job.rank(0);
      // show: source
      Flux<Integer> orders =
          Flux.fromStream(() -> readOrders()) // waits for a disk now and then
              .subscribeOn(Schedulers.boundedElastic()); // and is asked for each further part there
      Mono<Void> sent = lci.sender(ORDERS).sendAll(1, orders, (order, out) -> out.putInt(order));
      // end
      Mono<Long> received = job.rank(1).inbox(ORDERS).receive(m -> m.getInt(0)).take(1_000).count();
      Mono.when(received, sent).block(LIMIT);
      assertThat(readers).hasSize(1_000).allMatch(name -> name.startsWith("boundedElastic"));
    }
  }

  @Test
  void timers() {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciLoop loop = job.rank(0).loops().get(0);
      // show: timers
      Flux<Long> ticks = Flux.interval(Duration.ofMillis(1), loop.scheduler());
      // end
      assertThat(ticks.map(n -> loop.inLoop()).take(3).collectList().block(LIMIT))
          .containsExactly(true, true, true);
    }
  }

  @Test
  void severalLoops() {
    // show: loops
    LciOptions options = LciOptions.builder().loops(2).build();
    // end
    try (LciTestJob job = LciTestJob.start(2, options)) {
      LciRuntime lci = job.rank(1);
      // show: home
      Inbox inbox = lci.inbox(ORDERS, InboxOptions.builder().loop(1).build());
      Sender sender = lci.sender(ORDERS, SenderOptions.builder().loop(1).build());
      // end
      assertThat(sender.port()).isEqualTo(ORDERS);
      Mono<String> where = inbox.receive(m -> Thread.currentThread().getName()).next();
      assertThat(where.zipWith(send(job.rank(0), 1).thenReturn(1)).block(LIMIT).getT1())
          .isEqualTo("lci-loop-1");
    }
  }

  @Test
  void partitions() {
    LciOptions options = LciOptions.builder().loops(2).build();
    try (LciTestJob job = LciTestJob.start(2, options)) {
      LciRuntime lci = job.rank(1);
      // show: partitions
      Inbox orders = lci.inbox(ORDERS, InboxOptions.builder().partitions(2).build());
      List<Flux<Integer>> parts =
          orders.partitions().stream().map(part -> part.receive(m -> m.getInt(0))).toList();
      // end
      Mono<List<Integer>> even = parts.get(0).take(2).collectList();
      Mono<List<Integer>> odd = parts.get(1).take(2).collectList();
      Mono<List<List<Integer>>> both = Mono.zip(even, odd, List::of);
      List<List<Integer>> taken =
          both.zipWith(send(job.rank(0), 4).thenReturn(1)).block(LIMIT).getT1();
      assertThat(taken.get(0)).containsExactlyInAnyOrder(0, 2);
      assertThat(taken.get(1)).containsExactlyInAnyOrder(1, 3);
    }
  }

  @Test
  void sharedLoop() {
    // show: shared
    LciOptions small = LciOptions.builder().loops(1).devices(4).build();
    LciOptions large = LciOptions.builder().loops(4).devices(4).build();
    // end
    try (LciTestJob job = LciTestJob.start(2, rank -> rank == 0 ? small : large)) {
      assertThat(job.rank(0).loops()).hasSize(1);
      assertThat(job.rank(1).loops()).hasSize(4);
      Inbox inbox = job.rank(1).inbox(ORDERS);
      LciRuntime lci = job.rank(0);
      // show: device
      Sender third = lci.sender(ORDERS, SenderOptions.builder().device(3).build());
      // end
      Mono<Void> sent = third.sendAll(1, Flux.range(0, 5), (n, out) -> out.putInt(n));
      assertThat(Mono.zip(inbox.receive().take(5).count(), sent.thenReturn(1)).block(LIMIT).getT1())
          .isEqualTo(5);
    }
  }

  @Test
  void invoker() {
    // show: invoker
    LciOptions options = LciOptions.builder().invoker(true).build();
    // end
    try (LciTestJob job = LciTestJob.start(1, options)) {
      LciRuntime lci = job.rank(0);
      BlockingQueue<Runnable> results = new LinkedBlockingQueue<>();
      AtomicBoolean stopped = new AtomicBoolean();
      lci.inbox(ORDERS)
          .receive(m -> m.getInt(0))
          .take(3)
          .subscribe(n -> results.add(() -> {}), e -> {}, () -> stopped.set(true));
      lci.sender(ORDERS).sendAll(0, Flux.range(0, 3), (n, out) -> out.putInt(n)).subscribe();
      // show: drive
      LciLoop loop = lci.loops().get(0);
      while (!stopped.get()) {
        loop.poll(Duration.ofSeconds(1)); // everything of this loop is signalled in here
        for (Runnable result = results.poll(); result != null; result = results.poll()) {
          result.run();
        }
      }
      // end
      assertThat(results).isEmpty();
      // show: await
      loop.await(lci.barrier(), Duration.ofSeconds(10));
      // end
      lci.close();
    }
  }

  @Test
  void cpus() {
    // show: cpus
    LciOptions options =
        LciOptions.builder()
            .affinity(0) // the first CPU that this process may use
            .idle(IdleStrategy.busySpin())
            .build();
    // end
    try (LciTestJob job = LciTestJob.start(1, options)) {
      job.rank(0).barrier().block(LIMIT);
      assertThat(job.rank(0).snapshot().counter("loop_parks")).isZero();
    }
  }

  @Test
  void watchdog() {
    // show: watchdog
    LciOptions options = LciOptions.builder().blockedWarning(Duration.ofMillis(200)).build();
    // end
    try (LciTestJob job = LciTestJob.start(1, options)) {
      assertThat(job.rank(0).options().blockedWarning()).isEqualTo(Duration.ofMillis(200));
    }
  }

  @Test
  void help() {
    // show: help
    LciOptions options =
        LciOptions.builder().loops(2).progress(ProgressStrategy.help(Duration.ofMillis(1))).build();
    // end
    try (LciTestJob job = LciTestJob.start(1, options)) {
      assertThat(job.rank(0).options().progress()).isEqualTo(ProgressStrategy.help());
    }
  }

  /**
   * Where a loop may block; {@code BlockHoundTest} runs by it.
   *
   * @param builder of BlockHound
   */
  public static void allowLoops(BlockHound.Builder builder) {
    // show: blockhound
    builder
        // A loop rests there and nowhere else, and wakes for all that concerns it.
        .allowBlockingCallsInside("io.lci.internal.loop.Idler", "idle")
        // The crossing: the core never waits for anybody.
        .allowBlockingCallsInside("io.lci.internal.lane.Lane", "enter")
        // At its end a loop waits for threads that wake it, or read what goes with it.
        .allowBlockingCallsInside("io.lci.internal.loop.TaskQueue", "end")
        .allowBlockingCallsInside("io.lci.internal.inbox.Lease", "moveOut")
        // Short, and never held while user code runs.
        .allowBlockingCallsInside("io.lci.internal.core.CoreGate", "with")
        .allowBlockingCallsInside("io.lci.internal.core.CoreGate", "get")
        .allowBlockingCallsInside("io.lci.internal.core.CoreGate", "alone")
        .allowBlockingCallsInside("io.lci.internal.core.CoreGate", "close")
        // Timers have a queue with a lock, Reactor's, too; it is held for a moment.
        .allowBlockingCallsInside("io.lci.internal.loop.TimerStop", "now");
    // end
  }

  @Test
  void closing() {
    try (LciTestJob job = LciTestJob.start(1)) {
      LciRuntime lci = job.rank(0);
      // show: close
      Mono<Void> closed = lci.disposeGracefully(Duration.ofSeconds(5));
      Disposable report = lci.onClose().subscribe(none -> {}, cause -> {}, () -> {});
      // end
      closed.block(LIMIT);
      assertThat(report.isDisposed()).isTrue();
    }
  }

  @Test
  void theGuideShowsWhatIsCompiledHere() throws IOException {
    GuidePage.assertShows("threads.md", ThreadsGuideTest.class, 18);
  }
}
