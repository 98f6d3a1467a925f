/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.LciOptions;
import io.lci.LciRuntime;
import io.lci.Op;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.completion.CompletionQueue;
import io.lci.completion.QueueOptions;
import io.lci.rma.MemoryRegion;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import io.micrometer.core.instrument.MockClock;
import io.micrometer.core.instrument.simple.SimpleConfig;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.test.scheduler.VirtualTimeScheduler;

/** Meters of loops, matching, queues and memory, while something known happens to each. */
@ExtendWith(LciLeakCheck.class)
class ResourceMetersJobTest {
  private static final Port NUMBERS = Port.of(1, "numbers");
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final long TAG = 7;

  private final MockClock clock = new MockClock();
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry(SimpleConfig.DEFAULT, clock);

  private double gauge(String name) {
    clock.add(LciMetrics.SNAPSHOT_AGE);
    return registry.get(name).gauge().value();
  }

  private double counter(String name) {
    clock.add(LciMetrics.SNAPSHOT_AGE);
    return registry.get(name).functionCounter().count();
  }

  /** A loop that nobody drives crosses nothing; one that is driven crosses for what it posts. */
  @Test
  void aLoopCrossesWhenItHasSomethingToPost() {
    try (LciTestJob job = LciTestJob.start(1, LciOptions.builder().invoker(true).build());
        LciRuntime lci = job.rank(0); // closed by the thread that drives it
        LciMetrics metrics = new LciMetrics(lci)) {
      metrics.bindTo(registry);
      double before = counter("lci.loop.enters");
      Disposable barrier = lci.barrier().subscribe();
      assertThat(counter("lci.loop.enters")).isEqualTo(before);
      int turns = 0;
      do {
        lci.loops().get(0).poll();
        turns++;
      } while (!barrier.isDisposed());
      assertThat(counter("lci.loop.enters")).isBetween(before + 1, before + turns);
    }
  }

  @Test
  void aTurnThatIsBlockedIsAStall() {
    VirtualTimeScheduler time = VirtualTimeScheduler.create();
    Duration tooLong = Duration.ofSeconds(1);
    LciOptions options = LciOptions.builder().timer(time).blockedWarning(tooLong).build();
    Semaphore inside = new Semaphore(0);
    Semaphore released = new Semaphore(0);
    try (LciTestJob job = LciTestJob.start(1, options);
        LciMetrics metrics = new LciMetrics(job.rank(0))) {
      metrics.bindTo(registry);
      assertThat(counter("lci.loop.stalls")).isZero();
      Disposable blocking =
          job.rank(0)
              .loops()
              .get(0)
              .scheduler()
              .schedule(
                  () -> {
                    inside.release();
                    released.acquireUninterruptibly();
                  });
      inside.acquireUninterruptibly();
      time.advanceTimeBy(tooLong.multipliedBy(2));
      assertThat(counter("lci.loop.stalls")).isEqualTo(1);
      time.advanceTimeBy(tooLong.multipliedBy(10));
      assertThat(counter("lci.loop.stalls")).as("the same turn").isEqualTo(1);
      released.release();
      await().atMost(LIMIT).until(blocking::isDisposed);
    }
  }

  @Test
  void sendsThatNoReceiveMatchesAreUnexpected() {
    int sends = 3;
    try (LciTestJob job = LciTestJob.start(2);
        LciMetrics metrics = new LciMetrics(job.rank(1))) {
      metrics.bindTo(registry);
      assertThat(gauge("lci.matching.unexpected")).isZero();
      Flux.range(0, sends)
          .concatMap(n -> job.rank(0).tagged().send(1, TAG, Payload.ofInt(n)))
          .blockLast(LIMIT);
      await().atMost(LIMIT).until(() -> gauge("lci.matching.unexpected") == sends);
      for (int left = sends - 1; left >= 0; left--) {
        assertThat(job.rank(1).tagged().receive(0, TAG).block(LIMIT)).isNotNull();
        assertThat(gauge("lci.matching.unexpected")).isEqualTo(left);
      }

      Disposable early = job.rank(1).tagged().receive(0, TAG).subscribe();
      await().atMost(LIMIT).until(() -> gauge("lci.matching.receives") == 1);
      job.rank(0).tagged().send(1, TAG, Payload.empty()).block(LIMIT);
      await().atMost(LIMIT).until(early::isDisposed);
      assertThat(gauge("lci.matching.receives")).isZero();
      assertThat(gauge("lci.matching.unexpected")).isZero();
    }
  }

  @Test
  void queuesAreCountedInAndOut() {
    int posts = 5;
    int taken = 2;
    try (LciTestJob job = LciTestJob.start(1);
        LciMetrics metrics = new LciMetrics(job.rank(0))) {
      LciRuntime lci = job.rank(0);
      metrics.bindTo(registry);
      Disposable sink = lci.inbox(NUMBERS).handle(m -> {});
      CompletionQueue queue = lci.completions().queue(QueueOptions.defaults());
      double pushed = counter("lci.queues.pushed");
      double popped = counter("lci.queues.popped");
      double depth = gauge("lci.queues.depth");
      Flux.range(0, posts)
          .concatMap(n -> lci.post(Op.am(0, NUMBERS, Payload.ofInt(n)).completeTo(queue)))
          .blockLast(LIMIT);
      await().atMost(LIMIT).until(() -> queue.length() == posts);
      assertThat(counter("lci.queues.pushed") - pushed).isEqualTo(posts);
      assertThat(counter("lci.queues.popped") - popped).isZero();
      assertThat(gauge("lci.queues.depth") - depth).isEqualTo(posts);

      queue.completions().take(taken).blockLast(LIMIT);
      assertThat(counter("lci.queues.popped") - popped).isEqualTo(taken);
      assertThat(gauge("lci.queues.depth") - depth).isEqualTo(posts - taken);
      assertThat(counter("lci.queues.pushed") - pushed).isEqualTo(posts);

      queue.dispose();
      await().atMost(LIMIT).until(() -> gauge("lci.queues.depth") == depth);
      assertThat(counter("lci.queues.pushed") - pushed).isEqualTo(posts);
      sink.dispose();
    }
  }

  @Test
  void memoryIsCountedWhileItIsOpen() {
    int bytes = 1 << 16;
    try (LciTestJob job = LciTestJob.start(1);
        LciMetrics metrics = new LciMetrics(job.rank(0))) {
      metrics.bindTo(registry);
      double regions = gauge("lci.memory.regions");
      double allocated = gauge("lci.memory.allocated");
      MemoryRegion first = job.rank(0).memory().allocate(bytes);
      assertThat(gauge("lci.memory.regions") - regions).isEqualTo(1);
      assertThat(gauge("lci.memory.allocated") - allocated).isEqualTo(bytes);
      MemoryRegion second = job.rank(0).memory().register(ByteBuffer.allocateDirect(bytes));
      assertThat(gauge("lci.memory.regions") - regions).isEqualTo(2);
      assertThat(gauge("lci.memory.allocated") - allocated).as("not ours").isEqualTo(bytes);
      first.dispose();
      assertThat(gauge("lci.memory.allocated") - allocated).isZero();
      second.dispose();
      assertThat(gauge("lci.memory.regions") - regions).isZero();
    }
  }
}
