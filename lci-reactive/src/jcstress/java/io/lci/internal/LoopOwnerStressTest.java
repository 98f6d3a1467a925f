/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.internal.loop.LoopOwner;
import io.lci.nativebridge.Codes;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.ZZZ_Result;

/** Two threads that want to drive an invoker loop. */
public class LoopOwnerStressTest {
  private static final Stage STAGE = new Stage(Codes.DONE);

  @JCStressTest
  @Outcome(id = "true, false, true", expect = Expect.ACCEPTABLE, desc = "one drives")
  @Outcome(id = "false, true, true", expect = Expect.ACCEPTABLE, desc = "the other drives")
  @State
  public static class ClaimAndClaim {
    private final LoopOwner owner = new LoopOwner(STAGE.loop, true);
    private volatile Thread one;
    private volatile Thread other;

    private boolean claimed() {
      try {
        owner.claim();
      } catch (IllegalStateException e) {
        return false;
      }
      return owner.isHere();
    }

    @Actor
    public void one(ZZZ_Result result) {
      one = Thread.currentThread();
      result.r1 = claimed();
    }

    @Actor
    public void other(ZZZ_Result result) {
      other = Thread.currentThread();
      result.r2 = claimed();
    }

    @Arbiter
    public void judge(ZZZ_Result result) {
      Thread driver = owner.thread();
      owner.release();
      if (!one.isAlive() && !other.isAlive()) { // one after the other, to see what a state takes
        result.r1 = driver == one;
        result.r2 = driver == other;
      }
      result.r3 = driver == (result.r1 ? one : other);
    }
  }
}
