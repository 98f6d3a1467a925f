/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lci.LciOptions;
import io.lci.internal.UnstoppableTimer.Which;
import io.lci.internal.core.Ending;
import io.lci.internal.runtime.RuntimeImpl;
import io.lci.internal.runtime.Shutdown;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.Exceptions;
import reactor.core.scheduler.Scheduler;
import reactor.test.StepVerifier;

/** An end at which something throws is told all the same. */
class ShutdownTest {
  private static final Duration LIMIT = Duration.ofSeconds(30);
  private static final RuntimeException BROKEN = new IllegalStateException("broken");

  static Stream<Throwable> thrown() {
    return Stream.of(BROKEN, new AssertionError("broken"));
  }

  @ParameterizedTest
  @MethodSource("thrown")
  void aTimerThatThrowsKeepsNobodyWaiting(Throwable thrown) {
    ScriptedCore core = new ScriptedCore();
    LciOptions options =
        LciOptions.builder()
            .invoker(true)
            .closeTimeout(Duration.ZERO)
            .timer(new UnstoppableTimer(thrown, Which.PERIODIC))
            .build();
    RuntimeImpl runtime = new RuntimeImpl(core.calls, core.layout, 1, options);
    runtime.loops.all.get(0).poll();
    assertThatThrownBy(runtime::close).extracting(Exceptions::unwrap).isSameAs(thrown);
    assertThat(runtime.isDisposed()).isTrue();
    assertThat(core.closes).as("the core is closed all the same").isEqualTo(1);
  }

  /** A program's own timer that keeps its one task, or takes none. */
  private record Keeping(Disposable task, boolean takes) implements Scheduler {
    @Override
    public Disposable schedule(Runnable run) {
      throw BROKEN;
    }

    @Override
    public Disposable schedule(Runnable run, long delay, TimeUnit unit) {
      if (!takes) {
        throw BROKEN;
      }
      return task;
    }

    @Override
    public Worker createWorker() {
      throw BROKEN;
    }
  }

  private static Shutdown withTimer(Scheduler timer) {
    return new Shutdown(List.of(), new Ending(), true, timer, left -> null, () -> {});
  }

  @Test
  void theLimitIsTakenFromTheTimerAtTheEnd() {
    Disposable task = Disposables.single();
    Shutdown shutdown = withTimer(new Keeping(task, true));
    shutdown.start(LIMIT);
    assertThat(task.isDisposed()).isFalse();
    shutdown.loopEnded();
    assertThat(task.isDisposed()).isTrue();
  }

  @Test
  void aTimerThatTakesNothingLeavesRealTime() {
    Shutdown shutdown = withTimer(new Keeping(Disposables.disposed(), false));
    shutdown.start(LIMIT);
    shutdown.loopEnded();
    assertThat(shutdown.isOver()).isTrue();
  }

  @Test
  void whateverThrowsInTheEndOfTheCoreIsTold() {
    AtomicInteger observed = new AtomicInteger();
    Shutdown shutdown =
        new Shutdown(
            List.of(),
            new Ending(),
            true,
            null,
            left -> {
              throw BROKEN;
            },
            observed::incrementAndGet);
    shutdown.start(Duration.ZERO);
    shutdown.loopEnded();
    assertThat(shutdown.isOver()).isTrue();
    assertThat(observed).hasValue(1);
    StepVerifier.create(shutdown.onClose()).expectErrorMessage("broken").verify(LIMIT);
    assertThatThrownBy(() -> shutdown.close(Duration.ZERO)).isSameAs(BROKEN);
  }
}
