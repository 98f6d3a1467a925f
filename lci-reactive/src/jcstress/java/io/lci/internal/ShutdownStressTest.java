/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.internal.core.Ending;
import io.lci.internal.runtime.Shutdown;
import io.lci.nativebridge.Codes;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;
import org.openjdk.jcstress.infra.results.I_Result;

/** Loops that end at the same time, and a close that somebody else shortens. */
public class ShutdownStressTest {
  private static final Stage STAGE = new Stage(Codes.DONE);

  @JCStressTest
  @Outcome(id = "1, 1, 1", expect = Expect.ACCEPTABLE, desc = "the last one closes the core")
  @State
  public static class EndAndEnd {
    private final AtomicInteger closed = new AtomicInteger();
    private final Seen<Void> seen = new Seen<>();
    private final Shutdown shutdown =
        new Shutdown(
            List.of(STAGE.loop, STAGE.loop),
            new Ending(),
            true,
            null,
            left -> {
              closed.incrementAndGet();
              return null;
            },
            () -> {});

    public EndAndEnd() {
      shutdown.onClose().subscribe(seen);
      seen.subscription.request(1);
    }

    @Actor
    public void one() {
      shutdown.loopEnded();
    }

    @Actor
    public void other() {
      shutdown.loopEnded();
    }

    @Arbiter
    public void judge(III_Result result) {
      result.r1 = closed.get();
      result.r2 = seen.ends.get();
      result.r3 = shutdown.isOver() ? 1 : 0;
    }
  }

  @JCStressTest
  @Outcome(id = "0", expect = Expect.ACCEPTABLE, desc = "the core has no time")
  @State
  public static class CloseAndAbort {
    private int millisLeft = -1;
    private final Shutdown shutdown =
        new Shutdown(
            List.of(),
            new Ending(),
            true,
            null,
            left -> {
              millisLeft = left;
              return null;
            },
            () -> {});

    @Actor
    public void graceful() {
      shutdown.start(Duration.ofHours(1));
    }

    @Actor
    public void atOnce() {
      shutdown.abort();
    }

    @Arbiter
    public void judge(I_Result result) {
      shutdown.loopEnded();
      result.r1 = millisLeft;
    }
  }
}
