/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.internal.Operations.Kind;
import io.lci.nativebridge.Codes;
import java.time.Duration;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/**
 * A deadline, which passes on the timer's thread, against the signals of its operation. All states
 * of a test have one clock, so that time passes for the operation that is under way, whichever
 * state's it is. Results: elements, ends, and what is left over.
 */
public class DeadlineStressTest {
  private static final Duration TICK = Duration.ofNanos(1);

  private static Seen<Object> subscribed(Stage stage, Kind kind) {
    Seen<Object> seen = new Seen<>();
    stage
        .operations
        .runtime
        .post(stage.operations.op(kind, 1).deadline(TICK))
        .cast(Object.class)
        .subscribe(seen);
    return seen;
  }

  /** By the actor that is the loop. */
  private static void post(Stage stage, Seen<Object> seen) {
    stage.become();
    seen.subscription.request(1);
    stage.turn();
  }

  private static void passes(Stage stage) {
    stage.clock.tick();
  }

  private static void judge(Stage stage, Seen<Object> seen, III_Result result) {
    passes(stage); // for what waits and had none of it
    int left = stage.leftOver();
    result.r1 = seen.elements.get();
    result.r2 = seen.ends.get();
    result.r3 = left + seen.afterTheEnd.get();
  }

  @JCStressTest
  @Outcome(id = "1, 1, 0", expect = Expect.ACCEPTABLE, desc = "ended in time")
  @Outcome(id = "0, 1, 0", expect = Expect.ACCEPTABLE, desc = "too late")
  @State
  public static class PassesAndEnd {
    private static final Stage STAGE = new Stage(Codes.POSTED);
    private final Seen<Object> seen = subscribed(STAGE, Kind.SEND);

    @Actor
    public void loop() {
      post(STAGE, seen);
      STAGE.endPosted(Codes.DONE);
    }

    @Actor
    public void timer() {
      passes(STAGE);
    }

    @Arbiter
    public void judge(III_Result result) {
      DeadlineStressTest.judge(STAGE, seen, result);
    }
  }

  @JCStressTest
  @Outcome(id = "1, 1, 0", expect = Expect.ACCEPTABLE, desc = "accepted in time")
  @Outcome(id = "0, 1, 0", expect = Expect.ACCEPTABLE, desc = "too late")
  @State
  public static class PassesAndDone {
    private static final Stage STAGE = new Stage(Codes.DONE);
    private final Seen<Object> seen = subscribed(STAGE, Kind.AM);

    @Actor
    public void loop() {
      post(STAGE, seen);
    }

    @Actor
    public void timer() {
      passes(STAGE);
    }

    @Arbiter
    public void judge(III_Result result) {
      DeadlineStressTest.judge(STAGE, seen, result);
    }
  }

  @JCStressTest
  @Outcome(id = "0, 1, 0", expect = Expect.ACCEPTABLE, desc = "too late, and nothing waits")
  @State
  public static class PassesAndRefusal {
    private static final Stage STAGE = new Stage(Codes.RETRY_NOMEM);
    private final Seen<Object> seen = subscribed(STAGE, Kind.SEND);

    @Actor
    public void loop() {
      post(STAGE, seen);
      STAGE.turn();
    }

    @Actor
    public void timer() {
      passes(STAGE);
    }

    @Arbiter
    public void judge(III_Result result) {
      DeadlineStressTest.judge(STAGE, seen, result);
    }
  }

  @JCStressTest
  @Outcome(id = "0, 0, 0", expect = Expect.ACCEPTABLE, desc = "cancelled before it passed")
  @Outcome(id = "0, 1, 0", expect = Expect.ACCEPTABLE, desc = "too late")
  @State
  public static class PassesAndCancel {
    private static final Stage STAGE = new Stage(Codes.POSTED);
    private final Seen<Object> seen = subscribed(STAGE, Kind.RECEIVE);

    @Actor
    public void loop() {
      post(STAGE, seen);
      passes(STAGE);
      STAGE.turn();
    }

    @Actor
    public void subscriber() {
      seen.subscription.cancel();
    }

    @Arbiter
    public void judge(III_Result result) {
      DeadlineStressTest.judge(STAGE, seen, result);
    }
  }
}
