/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.internal.LoopSubscriptionStressTest.Counting;
import io.lci.internal.loop.SoleSubscriber;
import io.lci.nativebridge.Codes;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.ZZZ_Result;

/**
 * The place for one subscriber. Results: who came in, and whether the last one in is the live one.
 */
public class SoleSubscriberStressTest {
  private static final Stage STAGE = new Stage(Codes.DONE);

  private static Counting candidate() {
    return new Counting(STAGE.loop, new Seen<>());
  }

  @JCStressTest
  @Outcome(id = "true, false, true", expect = Expect.ACCEPTABLE, desc = "one")
  @Outcome(id = "false, true, true", expect = Expect.ACCEPTABLE, desc = "the other")
  @State
  public static class ClaimAndClaim {
    private final SoleSubscriber<Counting> place = new SoleSubscriber<>();
    private final Counting one = candidate();
    private final Counting other = candidate();

    @Actor
    public void one(ZZZ_Result result) {
      result.r1 = place.claim(one) == null;
    }

    @Actor
    public void other(ZZZ_Result result) {
      result.r2 = place.claim(other) == null;
    }

    @Arbiter
    public void judge(ZZZ_Result result) {
      result.r3 = place.live() == (result.r1 ? one : other);
    }
  }

  @JCStressTest
  @Outcome(id = "true, true, true", expect = Expect.ACCEPTABLE, desc = "the next came in")
  @Outcome(id = "true, false, true", expect = Expect.ACCEPTABLE, desc = "the next came too early")
  @State
  public static class LeaveAndClaim {
    private final SoleSubscriber<Counting> place = new SoleSubscriber<>();
    private final Counting first = candidate();
    private final Counting next = candidate();

    public LeaveAndClaim() {
      place.claim(first);
    }

    @Actor
    public void leaving(ZZZ_Result result) {
      first.cancel();
      place.leave(first);
      result.r1 = place.live() != first;
    }

    @Actor
    public void coming(ZZZ_Result result) {
      result.r2 = place.claim(next) == null;
    }

    @Arbiter
    public void judge(ZZZ_Result result) {
      STAGE.leftOver();
      result.r3 = place.live() == (result.r2 ? next : null);
    }
  }
}
