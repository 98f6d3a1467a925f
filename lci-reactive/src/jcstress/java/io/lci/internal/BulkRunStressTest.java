/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.am.Sender;
import io.lci.nativebridge.Codes;
import java.util.concurrent.atomic.AtomicInteger;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/**
 * A bulk operator whose source signals on another thread. Results: elements of which nobody knows
 * what became, ends, and what is left over.
 */
public class BulkRunStressTest {
  private static final Stage STAGE = new Stage(Codes.DONE);
  private static final Sender SENDER = STAGE.operations.runtime.sender(Operations.PORT);

  /** One subscription of a bulk operator. */
  private static final class Bulk {
    final HandSource<Integer> source = new HandSource<>();
    final Seen<Void> seen = new Seen<>();
    private final AtomicInteger encoded = new AtomicInteger();

    Bulk() {
      STAGE.asLoop(
          () -> {
            SENDER
                .sendAll(
                    Operations.PEER,
                    source,
                    (item, out) -> {
                      encoded.incrementAndGet();
                      out.putInt(item);
                    })
                .subscribe(seen);
            seen.subscription.request(1);
            STAGE.turns(2);
          });
    }

    void judge(int emitted, III_Result result) {
      int left = STAGE.leftOver();
      result.r1 = emitted - encoded.get() - seen.discarded.get();
      result.r2 = seen.ends.get();
      result.r3 = left + seen.afterTheEnd.get();
    }
  }

  @JCStressTest
  @Outcome(id = "0, 1, 0", expect = Expect.ACCEPTABLE, desc = "sent, and told so")
  @State
  public static class SourceAndTurns {
    private final Bulk bulk = new Bulk();

    @Actor
    public void loop() {
      STAGE.turn();
      STAGE.turn();
    }

    @Actor
    public void source() {
      bulk.source.subscriber().onNext(1);
      bulk.source.subscriber().onNext(2);
      bulk.source.subscriber().onComplete();
    }

    @Arbiter
    public void judge(III_Result result) {
      bulk.judge(2, result);
    }
  }

  @JCStressTest
  @Outcome(id = "0, 0, 0", expect = Expect.ACCEPTABLE, desc = "cancelled")
  @Outcome(id = "0, 1, 0", expect = Expect.ACCEPTABLE, desc = "done before")
  @State
  public static class SourceAndCancel {
    private final Bulk bulk = new Bulk();

    @Actor
    public void loop() {
      STAGE.turn();
      bulk.seen.subscription.cancel();
      STAGE.turn();
    }

    @Actor
    public void source() {
      bulk.source.subscriber().onNext(1);
      bulk.source.subscriber().onNext(2);
      bulk.source.subscriber().onComplete();
    }

    @Arbiter
    public void judge(III_Result result) {
      bulk.judge(2, result);
    }
  }

  @JCStressTest
  @Outcome(id = "0, 0, 0", expect = Expect.ACCEPTABLE, desc = "cancelled")
  @Outcome(id = "0, 1, 0", expect = Expect.ACCEPTABLE, desc = "failed before")
  @State
  public static class SourceErrorAndCancel {
    private final Bulk bulk = new Bulk();

    @Actor
    public void loop() {
      STAGE.turn();
      STAGE.turn();
    }

    @Actor
    public void source() {
      bulk.source.subscriber().onNext(1);
      bulk.source.subscriber().onError(new IllegalStateException("as wanted"));
      bulk.seen.subscription.cancel();
    }

    @Arbiter
    public void judge(III_Result result) {
      bulk.judge(1, result);
    }
  }
}
