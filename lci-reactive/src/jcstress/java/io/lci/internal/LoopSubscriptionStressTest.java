/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.LoopSubscription;
import io.lci.nativebridge.Codes;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.IIII_Result;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.JI_Result;

/** Demand that comes from two threads, and the cancel that may overtake it. */
public class LoopSubscriptionStressTest {
  /** Emits what is asked for, and counts the cancels. */
  static final class Counting extends LoopSubscription<Object> {
    int cancels;

    Counting(EventLoop loop, Seen<Object> seen) {
      super(loop, seen);
    }

    @Override
    public void drain() {
      while (demand > 0 && demand < Long.MAX_VALUE && !isOver()) {
        emit(this);
      }
    }

    @Override
    public void onCancel() {
      cancels++;
    }
  }

  @JCStressTest
  @Outcome(id = "14, 0", expect = Expect.ACCEPTABLE, desc = "as many as were asked for")
  @State
  public static class RequestsAddUp {
    private static final Stage STAGE = new Stage(Codes.DONE);
    private final Seen<Object> seen = new Seen<>();
    private final Counting counting = new Counting(STAGE.loop, seen);

    @Actor
    public void loop() {
      STAGE.become();
      counting.request(1);
      STAGE.turn();
      counting.request(2);
      STAGE.turn();
    }

    @Actor
    public void subscriber() {
      counting.request(3);
      counting.request(3);
      counting.request(5);
    }

    @Arbiter
    public void judge(II_Result result) {
      result.r2 = STAGE.leftOver();
      result.r1 = seen.elements.get();
    }
  }

  @JCStressTest
  @Outcome(id = "9223372036854775807, 0", expect = Expect.ACCEPTABLE, desc = "without a bound")
  @State
  public static class UnboundedStaysUnbounded {
    private static final Stage STAGE = new Stage(Codes.DONE);
    private final Counting counting = new Counting(STAGE.loop, new Seen<>());

    @Actor
    public void one() {
      counting.request(Long.MAX_VALUE);
    }

    @Actor
    public void other() {
      counting.request(Long.MAX_VALUE - 1);
      counting.request(2);
    }

    @Arbiter
    public void judge(JI_Result result) {
      result.r2 = STAGE.leftOver();
      result.r1 = counting.demand;
    }
  }

  @JCStressTest
  @Outcome(id = "[01], 0, 1, 0", expect = Expect.ACCEPTABLE, desc = "cancelled once, no end")
  @State
  public static class CancelAndRequest {
    private static final Stage STAGE = new Stage(Codes.DONE);
    private final Seen<Object> seen = new Seen<>();
    private final Counting counting = new Counting(STAGE.loop, seen);

    @Actor
    public void loop() {
      STAGE.become();
      counting.request(1);
      STAGE.turn();
      counting.cancel();
    }

    @Actor
    public void subscriber() {
      counting.cancel();
      counting.request(1);
    }

    @Arbiter
    public void judge(IIII_Result result) {
      result.r4 = STAGE.leftOver();
      result.r1 = seen.elements.get();
      result.r2 = seen.ends.get();
      result.r3 = counting.cancels;
    }
  }

  @JCStressTest
  @Outcome(id = "0, 1, 1, 0", expect = Expect.ACCEPTABLE, desc = "refused")
  @Outcome(id = "1, 1, 1, 0", expect = Expect.ACCEPTABLE, desc = "one, then refused")
  @State
  public static class BadRequestAndRequest {
    private static final Stage STAGE = new Stage(Codes.DONE);
    private final Seen<Object> seen = new Seen<>();
    private final Counting counting = new Counting(STAGE.loop, seen);

    @Actor
    public void loop() {
      STAGE.become();
      counting.request(1);
      STAGE.turn();
    }

    @Actor
    public void subscriber() {
      counting.request(0);
      counting.request(-1);
    }

    @Arbiter
    public void judge(IIII_Result result) {
      result.r4 = STAGE.leftOver();
      result.r1 = seen.elements.get();
      result.r2 = seen.errors.get();
      result.r3 = counting.cancels;
    }
  }
}
