/* SPDX-License-Identifier: Apache-2.0 */
package io.lci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.am.InboxOptions;
import io.lci.am.Payload;
import io.lci.am.Port;
import io.lci.am.SenderOptions;
import io.lci.completion.CompletionQueue;
import io.lci.completion.QueueOptions;
import io.lci.error.LciException;
import io.lci.testing.LciLeakCheck;
import io.lci.testing.LciTestJob;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;

/** Loops that progress the devices of others. */
@ExtendWith(LciLeakCheck.class)
class ProgressStrategyTest {
  private static final Port ELSEWHERE = Port.of(45, "elsewhere");
  private static final Port AT_HOME = Port.of(46, "at home");
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final int MESSAGES = 100;
  private static final int HELD = 0;
  private static final int FREE = 1;

  private final Semaphore holding = new Semaphore(0);
  private final Semaphore released = new Semaphore(0);

  static Stream<ProgressStrategy> helping() {
    return Stream.of(
        ProgressStrategy.help(), ProgressStrategy.random(1), ProgressStrategy.global(1));
  }

  private static LciOptions.Builder twoLoops(ProgressStrategy progress) {
    return LciOptions.builder().loops(2).progress(progress);
  }

  private void hold(LciRuntime lci) {
    lci.loops()
        .get(HELD)
        .scheduler()
        .schedule(
            () -> {
              holding.release();
              released.acquireUninterruptibly();
            });
    holding.acquireUninterruptibly();
  }

  /** Counts the messages at a port whose inbox lives on {@code loop}. */
  private static Mono<Long> count(LciRuntime lci, Port port, int loop) {
    Mono<Long> count =
        lci.inbox(port, InboxOptions.builder().loop(loop).build())
            .receive(m -> m.getInt(0))
            .take(MESSAGES)
            .count()
            .cache();
    count.subscribe();
    return count;
  }

  /** Sends over the first device, which the loop serves that is held. */
  private static Mono<Void> send(LciRuntime lci, Port port) {
    return lci.sender(port, SenderOptions.builder().loop(HELD).build())
        .sendAll(1, Flux.range(0, MESSAGES), (value, out) -> out.putInt(value));
  }

  // Proves: H18
  // On: inproc
  @ParameterizedTest
  @MethodSource("helping")
  void aHeldLoopHoldsUpNoInboxOfAnother(ProgressStrategy progress) {
    try (LciTestJob job = LciTestJob.start(2, twoLoops(progress).build())) {
      LciRuntime receiver = job.rank(1);
      Mono<Long> elsewhere = count(receiver, ELSEWHERE, FREE);
      Mono<Long> atHome = count(receiver, AT_HOME, HELD);
      hold(receiver);
      try {
        send(job.rank(0), ELSEWHERE).block(LIMIT);
        assertThat(elsewhere.block(LIMIT)).isEqualTo(MESSAGES);
        Mono<Void> sent = send(job.rank(0), AT_HOME).cache();
        sent.subscribe();
        sent.block(LIMIT);
        assertThat(receiver.snapshot().counter("loop_helped", HELD)).isPositive();
        assertThat(receiver.snapshot().counter("loop_messages", HELD)).isZero();
      } finally {
        released.release();
      }
      assertThat(atHome.block(LIMIT)).isEqualTo(MESSAGES);
    }
  }

  @ParameterizedTest
  @MethodSource("helping")
  void aHeldLoopHoldsUpNoQueueOfAnother(ProgressStrategy progress) {
    try (LciTestJob job = LciTestJob.start(2, twoLoops(progress).build())) {
      LciRuntime receiver = job.rank(1);
      CompletionQueue queue =
          receiver.completions().queue(QueueOptions.builder().loop(FREE).build());
      receiver.completions().bind(ELSEWHERE, queue);
      Mono<Long> count = queue.completions().take(MESSAGES).count().cache();
      count.subscribe();
      hold(receiver);
      try {
        send(job.rank(0), ELSEWHERE).block(LIMIT);
        assertThat(count.block(LIMIT)).isEqualTo(MESSAGES);
      } finally {
        released.release();
      }
    }
  }

  @Test
  void anInvokerLoopThatNobodyDrivesIsHelpedByOneThatIsDriven() {
    LciOptions driven = LciOptions.defaults();
    LciOptions invoker = twoLoops(ProgressStrategy.help()).invoker(true).build();
    try (LciTestJob job =
        LciTestJob.start(2, rank -> rank == 0 ? driven.mutate().loops(2).build() : invoker)) {
      LciRuntime receiver = job.rank(1);
      LciLoop free = receiver.loops().get(FREE);
      Mono<Long> count = count(receiver, ELSEWHERE, FREE);
      Mono<Void> sent = send(job.rank(0), ELSEWHERE).cache();
      sent.subscribe();
      assertThat(free.await(count, LIMIT)).isEqualTo(MESSAGES);
      assertThat(receiver.snapshot().counter("loop_helped", HELD)).isPositive();
      free.await(sent, LIMIT);
      receiver.close(); // by the thread that drives its loops
    }
  }

  @Test
  void theWatchdogSaysWhoHelps() {
    VirtualTimeScheduler clock = VirtualTimeScheduler.create();
    Duration tooLong = Duration.ofSeconds(1);
    ByteArrayOutputStream log = new ByteArrayOutputStream();
    PrintStream standardError = System.err;
    System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
    LciOptions options =
        twoLoops(ProgressStrategy.help()).timer(clock).blockedWarning(tooLong).build();
    try (LciTestJob job = LciTestJob.start(2, options)) {
      LciRuntime receiver = job.rank(1);
      Mono<Long> elsewhere = count(receiver, ELSEWHERE, FREE);
      hold(receiver);
      try {
        clock.advanceTimeBy(tooLong.dividedBy(4)); // the watchdog sees the turn
        send(job.rank(0), ELSEWHERE).block(LIMIT);
        elsewhere.block(LIMIT);
        clock.advanceTimeBy(tooLong);
        assertThat(log.toString(StandardCharsets.UTF_8).lines())
            .anySatisfy(
                line ->
                    assertThat(line)
                        .contains("lci-loop-0 is in one turn for 1000 ms")
                        .contains("lci-loop-1 progresses its devices"));
      } finally {
        released.release();
      }
    } finally {
      System.setErr(standardError);
    }
  }

  @Test
  void loopsThatHelpEndInAnyOrder() {
    LciOptions options = LciOptions.builder().loops(3).progress(ProgressStrategy.global(1)).build();
    for (int round = 0; round < 10; round++) {
      try (LciTestJob job = LciTestJob.start(2, options)) {
        Mono<Long> elsewhere = count(job.rank(1), ELSEWHERE, round % 3);
        for (int loop : IntStream.range(0, 3).toArray()) {
          job.rank(0)
              .sender(ELSEWHERE, SenderOptions.builder().loop(loop).build())
              .sendAll(1, Flux.range(0, MESSAGES), (value, out) -> out.putInt(value))
              .subscribe(null, error -> {}); // the close may come first
        }
        assertThat(elsewhere.block(LIMIT)).isEqualTo(MESSAGES);
      }
    }
  }

  @Test
  void helpNeedsALoopThatHelps() {
    LciOptions options = LciOptions.builder().progress(ProgressStrategy.help()).build();
    assertThatThrownBy(() -> LciRuntime.create(options))
        .isInstanceOf(LciException.class)
        .hasMessageContaining("progress=help")
        .hasMessageContaining("set loops to 2 or more");
  }

  @Test
  void withOneLoopTheOthersAreLocal() {
    try (LciTestJob job =
        LciTestJob.start(1, LciOptions.builder().progress(ProgressStrategy.random(1)).build())) {
      LciRuntime lci = job.rank(0);
      lci.inbox(ELSEWHERE);
      lci.sender(ELSEWHERE).send(0, Payload.ofInt(1)).block(LIMIT);
      assertThat(lci.snapshot().counter("loop_helped")).isZero();
    }
  }

  @Test
  void valuesThatMeanNothingAreRefused() {
    assertThatThrownBy(() -> ProgressStrategy.help(Duration.ZERO))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("1 microsecond");
    assertThatThrownBy(() -> ProgressStrategy.random(0))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("everyTurns");
    assertThatThrownBy(() -> ProgressStrategy.global(-1))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("everyTurns");
  }
}
