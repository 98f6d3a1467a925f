/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;

/** User code that keeps a loop is named, by a clock that the test moves. */
@ExtendWith(LciLeakCheck.class)
class LoopWatchdogTest {
  private static final Port PORT = Port.of(44, "watchdog");
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final Duration TOO_LONG = Duration.ofSeconds(1);

  /** What the observer was told. */
  private record Report(LciLoop loop, Duration time, List<StackTraceElement> stack) {}

  private final VirtualTimeScheduler clock = VirtualTimeScheduler.create();
  private final List<Report> reports = new CopyOnWriteArrayList<>();
  private final ByteArrayOutputStream log = new ByteArrayOutputStream();
  private final PrintStream standardError = System.err;
  private final Semaphore holding = new Semaphore(0);
  private final Semaphore released = new Semaphore(0);
  private volatile Thread held;

  @BeforeEach
  void capture() {
    System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
  }

  @AfterEach
  void restore() {
    System.setErr(standardError);
  }

  private LciTestJob start(Duration limit) {
    return LciTestJob.start(
        1,
        LciOptions.builder()
            .timer(clock)
            .blockedWarning(limit)
            .instrumentation(
                new LciInstrumentation() {
                  @Override
                  public void loopBlocked(
                      LciLoop loop, Duration time, List<StackTraceElement> stack) {
                    reports.add(new Report(loop, time, stack));
                  }
                })
            .build());
  }

  private int holdsTheLoop(int value) {
    held = Thread.currentThread();
    holding.release();
    released.acquireUninterruptibly();
    return value;
  }

  private List<String> warnings() {
    return log.toString(StandardCharsets.UTF_8)
        .lines()
        .filter(line -> line.contains(" WARN io.lci.LciRuntime - "))
        .toList();
  }

  @Test
  void aDecoderThatBlocksIsNamedOncePerTurn() {
    try (LciTestJob job = start(TOO_LONG)) {
      LciRuntime lci = job.rank(0);
      Mono<Long> received =
          lci.inbox(PORT).receive(m -> holdsTheLoop(m.getInt(0))).take(2).count().cache();
      received.subscribe();
      for (int blocked = 1; blocked <= 2; blocked++) {
        lci.sender(PORT).send(0, Payload.ofInt(blocked)).subscribe();
        holding.acquireUninterruptibly();
        await().atMost(LIMIT).until(() -> held.getState() == Thread.State.WAITING);
        clock.advanceTimeBy(TOO_LONG); // seen first at a quarter of it
        assertThat(reports).hasSize(blocked - 1);
        clock.advanceTimeBy(TOO_LONG.dividedBy(4));
        assertThat(reports).hasSize(blocked);
        clock.advanceTimeBy(TOO_LONG.multipliedBy(10));
        assertThat(reports).hasSize(blocked);
        assertThat(lci.snapshot().counter("loop_stalls")).isEqualTo(blocked);
        released.release();
        int done = blocked;
        await().atMost(LIMIT).until(() -> lci.snapshot().counter("loop_messages") == done);
        // another turn, so that the next one that blocks is not this one
        assertThat(Mono.just(1).publishOn(lci.loops().get(0).scheduler()).block(LIMIT)).isOne();
      }
      assertThat(received.block(LIMIT)).isEqualTo(2);
      assertThat(reports.get(0).loop()).isSameAs(lci.loops().get(0));
      assertThat(reports.get(0).time()).isEqualTo(TOO_LONG);
      assertThat(reports.get(0).stack())
          .anyMatch(frame -> frame.getMethodName().equals("holdsTheLoop"));
      assertThat(warnings())
          .hasSize(2)
          .allSatisfy(
              line ->
                  assertThat(line)
                      .contains("lci-loop-0 is in one turn for 1000 ms")
                      .contains("and nothing else of it moves: it waits in ")
                      .contains(getClass().getName() + ".holdsTheLoop"));
    }
  }

  @Test
  void aLoopThatWorksOrSleepsIsLeftAlone() {
    try (LciTestJob job = start(TOO_LONG)) {
      LciRuntime lci = job.rank(0);
      for (int i = 0; i < 20; i++) {
        long parks = lci.snapshot().counter("loop_parks");
        await().atMost(LIMIT).until(() -> lci.snapshot().counter("loop_parks") > parks);
        clock.advanceTimeBy(TOO_LONG.dividedBy(4)); // a look: the loop sleeps, or is just awake
      }
      assertThat(warnings()).isEmpty();
      assertThat(lci.snapshot().counter("loop_stalls")).isZero();
    }
  }

  @Test
  void itCanBeTurnedOff() throws InterruptedException {
    try (LciTestJob job = start(Duration.ZERO)) {
      LciRuntime lci = job.rank(0);
      CountDownLatch over = new CountDownLatch(1);
      lci.loops()
          .get(0)
          .scheduler()
          .schedule(
              () -> {
                holdsTheLoop(0);
                over.countDown();
              });
      holding.acquireUninterruptibly();
      clock.advanceTimeBy(Duration.ofHours(1));
      assertThat(reports).isEmpty();
      released.release();
      over.await();
    }
  }
}
