/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.internal.Operations.Kind;
import io.lci.nativebridge.Codes;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/**
 * The one signal of an operation's Mono. Results: elements, ends, and what is left over: a slot, a
 * parked operation, a dropped signal.
 */
public class OpRunStressTest {
  /** By the actor that is the loop. */
  private static void post(Stage stage, Seen<Object> seen) {
    stage.become();
    seen.subscription.request(1);
    stage.turn();
  }

  private static void judge(Stage stage, Seen<Object> seen, III_Result result) {
    int left = stage.leftOver();
    result.r1 = seen.elements.get();
    result.r2 = seen.ends.get();
    result.r3 = left + seen.afterTheEnd.get();
  }

  @JCStressTest
  @Outcome(id = "1, 1, 0", expect = Expect.ACCEPTABLE, desc = "posted and ended")
  @State
  public static class RequestAndTurn {
    private static final Stage STAGE = new Stage(Codes.POSTED);
    private final Seen<Object> seen = STAGE.subscribed(Kind.SEND);

    @Actor
    public void loop() {
      STAGE.turn();
    }

    @Actor
    public void subscriber() {
      seen.subscription.request(1);
    }

    @Arbiter
    public void judge(III_Result result) {
      OpRunStressTest.judge(STAGE, seen, result);
    }
  }

  @JCStressTest
  @Outcome(id = "0, 0, 0", expect = Expect.ACCEPTABLE, desc = "cancelled before the signal")
  @Outcome(id = "1, 0, 0", expect = Expect.ACCEPTABLE, desc = "cancelled at the element")
  @Outcome(id = "1, 1, 0", expect = Expect.ACCEPTABLE, desc = "ended before the cancel")
  @State
  public static class CancelAndDone {
    private static final Stage STAGE = new Stage(Codes.DONE);
    private final Seen<Object> seen = STAGE.subscribed(Kind.AM);

    @Actor
    public void loop() {
      OpRunStressTest.post(STAGE, seen);
    }

    @Actor
    public void subscriber() {
      seen.subscription.cancel();
    }

    @Arbiter
    public void judge(III_Result result) {
      OpRunStressTest.judge(STAGE, seen, result);
    }
  }

  @JCStressTest
  @Outcome(id = "0, 0, 0", expect = Expect.ACCEPTABLE, desc = "cancelled before the signal")
  @Outcome(id = "1, 0, 0", expect = Expect.ACCEPTABLE, desc = "cancelled at the element")
  @Outcome(id = "1, 1, 0", expect = Expect.ACCEPTABLE, desc = "ended before the cancel")
  @State
  public static class CancelAndEnd {
    private static final Stage STAGE = new Stage(Codes.POSTED);
    private final Seen<Object> seen = STAGE.subscribed(Kind.RECEIVE);

    @Actor
    public void loop() {
      OpRunStressTest.post(STAGE, seen);
      STAGE.endPosted(Codes.DONE);
    }

    @Actor
    public void subscriber() {
      seen.subscription.cancel();
    }

    @Arbiter
    public void judge(III_Result result) {
      OpRunStressTest.judge(STAGE, seen, result);
    }
  }

  @JCStressTest
  @Outcome(id = "0, 0, 0", expect = Expect.ACCEPTABLE, desc = "cancelled before the error")
  @Outcome(id = "0, 1, 0", expect = Expect.ACCEPTABLE, desc = "told of the death")
  @State
  public static class CancelAndPeerDeath {
    private static final Stage STAGE = new Stage(Codes.POSTED);
    private final Seen<Object> seen = STAGE.subscribed(Kind.SEND);

    @Actor
    public void loop() {
      OpRunStressTest.post(STAGE, seen);
      STAGE.endPosted(Codes.ERR_PEER_FAILED);
    }

    @Actor
    public void subscriber() {
      seen.subscription.cancel();
    }

    @Arbiter
    public void judge(III_Result result) {
      OpRunStressTest.judge(STAGE, seen, result);
    }
  }

  @JCStressTest
  @Outcome(id = "0, 0, 0", expect = Expect.ACCEPTABLE, desc = "cancelled once")
  @State
  public static class CancelAndCancel {
    private static final Stage STAGE = new Stage(Codes.RETRY_NOMEM);
    private final Seen<Object> seen = STAGE.subscribed(Kind.SEND);

    @Actor
    public void loop() {
      OpRunStressTest.post(STAGE, seen);
      seen.subscription.cancel();
    }

    @Actor
    public void subscriber() {
      seen.subscription.cancel();
    }

    @Arbiter
    public void judge(III_Result result) {
      OpRunStressTest.judge(STAGE, seen, result);
    }
  }
}
