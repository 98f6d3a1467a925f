/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import static java.util.concurrent.TimeUnit.NANOSECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import io.lci.internal.loop.LoopScheduler;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.scheduler.Scheduler;

/** Delayed and periodic tasks among all that a loop does. */
class TimersTest {
  private static final int TURNS = 20;

  private final Operations operations = new Operations();
  private final Scheduler scheduler = new LoopScheduler(operations.runtime.loops.all.get(0));
  private final List<String> ran = new ArrayList<>();

  @AfterEach
  void close() {
    operations.close();
  }

  /** It is always behind, and neither messages nor other timers wait for it to catch up. */
  @Test
  void aPeriodThatCannotBeKeptTakesNoMoreThanItsTurn() {
    Disposable fast = scheduler.schedulePeriodically(() -> ran.add("fast"), 0, 1, NANOSECONDS);
    Disposable slow = scheduler.schedulePeriodically(() -> ran.add("slow"), 0, 1, NANOSECONDS);
    operations.turns(TURNS);
    fast.dispose();
    slow.dispose();
    assertThat(ran).hasSizeBetween(2, 2 * TURNS);
    assertThat(ran.subList(0, 2)).containsExactlyInAnyOrder("fast", "slow");
  }

  /** Both are due in one turn, and the first disposes of the second. */
  @Test
  void whatIsDisposedOfInTheTurnInWhichItIsDueDoesNotRun() {
    Disposable.Swap second = Disposables.swap();
    scheduler.schedule(
        () -> {
          ran.add("first");
          second.dispose();
        },
        1,
        NANOSECONDS);
    second.update(scheduler.schedule(() -> ran.add("second"), 2, NANOSECONDS));
    operations.turns(TURNS);
    assertThat(ran).containsExactly("first");
  }
}
