/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.internal.loop.LoopTask;
import io.lci.internal.loop.TaskQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.I_Result;

/** What other threads hand to a loop that parks, runs and ends. */
public class TaskQueueStressTest {
  private static void uncaught(Throwable error) {
    throw new AssertionError(error);
  }

  @JCStressTest
  @Outcome(id = "1, 0", expect = Expect.ACCEPTABLE, desc = "the loop saw the task")
  @Outcome(id = "0, 1", expect = Expect.ACCEPTABLE, desc = "the loop slept and was woken")
  @Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "both saw each other")
  @Outcome(id = "0, 0", expect = Expect.FORBIDDEN, desc = "the loop sleeps for ever")
  @State
  public static class OfferAndPark {
    private final Bell bell = new Bell();
    private final TaskQueue queue = new TaskQueue(bell.lane, TaskQueueStressTest::uncaught);

    @Actor
    public void loop(II_Result result) {
      bell.lane.announcePark();
      result.r1 = queue.isEmpty() ? 0 : 1;
    }

    @Actor
    public void other() {
      queue.execute(() -> {});
    }

    @Arbiter
    public void judge(II_Result result) {
      result.r2 = bell.wakes.get();
    }
  }

  @JCStressTest
  @Outcome(id = "1, 0, 0", expect = Expect.ACCEPTABLE, desc = "ran")
  @Outcome(id = "0, 1, 0", expect = Expect.ACCEPTABLE, desc = "rejected")
  @State
  public static class OfferAndEnd {
    private final Bell bell = new Bell();
    private final TaskQueue queue = new TaskQueue(bell.lane, TaskQueueStressTest::uncaught);
    private final AtomicInteger runs = new AtomicInteger();
    private final AtomicInteger rejections = new AtomicInteger();
    private int wakesAtEnd;

    public OfferAndEnd() {
      bell.lane.announcePark();
    }

    @Actor
    public void loop() {
      queue.run(8, TaskQueueStressTest::uncaught);
      queue.end();
      wakesAtEnd = bell.wakes.get(); // here the lane is freed
      queue.reject();
    }

    @Actor
    public void other() {
      queue.execute(
          new LoopTask() {
            @Override
            public void run() {
              runs.incrementAndGet();
            }

            @Override
            public void rejected() {
              rejections.incrementAndGet();
            }
          });
    }

    @Arbiter
    public void judge(III_Result result) {
      result.r1 = runs.get();
      result.r2 = rejections.get();
      result.r3 = bell.wakes.get() - wakesAtEnd;
    }
  }

  @JCStressTest
  @Outcome(id = "123", expect = Expect.ACCEPTABLE, desc = "each once, in their order")
  @State
  public static class OfferAndRun {
    private final Bell bell = new Bell();
    private final TaskQueue queue = new TaskQueue(bell.lane, TaskQueueStressTest::uncaught);
    private int ran;

    @Actor
    public void loop() {
      queue.run(2, TaskQueueStressTest::uncaught);
      queue.run(1, TaskQueueStressTest::uncaught);
    }

    @Actor
    public void other() {
      queue.execute(() -> ran = 10 * ran + 1);
      queue.execute(() -> ran = 10 * ran + 2);
      queue.execute(() -> ran = 10 * ran + 3);
    }

    @Arbiter
    public void judge(I_Result result) {
      queue.run(8, TaskQueueStressTest::uncaught);
      result.r1 = ran;
    }
  }

  @JCStressTest
  @Outcome(id = "2", expect = Expect.ACCEPTABLE, desc = "both once")
  @State
  public static class OfferAndOffer {
    private final Bell bell = new Bell();
    private final TaskQueue queue = new TaskQueue(bell.lane, TaskQueueStressTest::uncaught);
    private int ran;

    @Actor
    public void one() {
      queue.execute(() -> ran++);
    }

    @Actor
    public void other() {
      queue.execute(() -> ran++);
    }

    @Arbiter
    public void judge(I_Result result) {
      queue.run(8, TaskQueueStressTest::uncaught);
      result.r1 = ran;
    }
  }
}
