/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.internal.loop.LoopScheduler;
import io.lci.nativebridge.Codes;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;
import org.openjdk.jcstress.infra.results.ZI_Result;
import reactor.core.Disposable;

/** Tasks of the loop's scheduler that are disposed of while they come and run. */
public class LoopSchedulerStressTest {
  private static final Stage STAGE = new Stage(Codes.DONE);

  @JCStressTest
  @Outcome(id = "true, 0", expect = Expect.ACCEPTABLE, desc = "disposed of before it ran")
  @Outcome(id = "true, 1", expect = Expect.ACCEPTABLE, desc = "ran once")
  @State
  public static class DisposeAndRun {
    private int runs;
    private final Disposable task = new LoopScheduler(STAGE.loop).schedule(() -> runs++);

    @Actor
    public void loop() {
      STAGE.turn();
    }

    @Actor
    public void other() {
      task.dispose();
    }

    @Arbiter
    public void judge(ZI_Result result) {
      int left = STAGE.leftOver();
      result.r1 = task.isDisposed();
      result.r2 = runs + 100 * left;
    }
  }

  @JCStressTest
  @Outcome(id = "true, 0", expect = Expect.ACCEPTABLE, desc = "does not run after that")
  @State
  public static class DisposeAndPeriod {
    private int runs;
    private final Disposable task =
        new LoopScheduler(STAGE.loop)
            .schedulePeriodically(() -> runs++, 0, 10, TimeUnit.MICROSECONDS);

    @Actor
    public void loop() {
      STAGE.turn();
      STAGE.turn();
    }

    @Actor
    public void other() {
      task.dispose();
    }

    @Arbiter
    public void judge(ZI_Result result) {
      int before = runs;
      result.r2 = STAGE.leftOver();
      result.r1 = task.isDisposed() && runs == before;
    }
  }

  @JCStressTest
  @Outcome(id = "0, 1, 0", expect = Expect.ACCEPTABLE, desc = "taken, then disposed of")
  @Outcome(id = "1, 0, 0", expect = Expect.ACCEPTABLE, desc = "refused")
  @State
  public static class DisposeAndSchedule {
    private final LoopScheduler view = new LoopScheduler(STAGE.loop);
    private int runs;

    @Actor
    public void one() {
      view.dispose();
    }

    @Actor
    public void other(III_Result result) {
      try {
        view.schedule(() -> runs++);
        result.r2 = 1;
      } catch (RejectedExecutionException e) {
        result.r1 = 1;
      }
    }

    @Arbiter
    public void judge(III_Result result) {
      int left = STAGE.leftOver();
      result.r3 = runs + 100 * left;
    }
  }
}
