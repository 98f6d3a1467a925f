/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import io.lci.am.Message;
import io.lci.am.Payload;
import io.lci.internal.HandSource;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.IIII_Result;

/**
 * A call whose source signals on another thread. Results: items of the source of which nobody knows
 * what became, items that came back, ends, and what is left over.
 */
public class OutboundStressTest {
  /** One call with a source. */
  private static final class Call {
    final Peers peers = Peers.echoing();
    final HandSource<Payload> source = new HandSource<>();
    final Heard<Message> heard = new Heard<>(5);

    Call() {
      peers.call(source, heard);
    }

    void judge(IIII_Result result) {
      result.r4 = peers.leftOver();
      result.r1 = 1 - peers.encoded.get() - peers.discarded.get();
      result.r2 = heard.items.size();
      result.r3 = heard.hasEnded() ? 1 : 0;
    }
  }

  @JCStressTest
  @Outcome(id = "0, 1, 1, 0", expect = Expect.ACCEPTABLE, desc = "there and back")
  @State
  public static class SourceAndDelivery {
    private final Call call = new Call();

    @Actor
    public void loop() {
      call.peers.run();
    }

    @Actor
    public void source() {
      call.source.subscriber().onNext(call.peers.item());
      call.source.subscriber().onComplete();
    }

    @Arbiter
    public void judge(IIII_Result result) {
      call.judge(result);
    }
  }

  @JCStressTest
  @Outcome(id = "0, [01], 0, 0", expect = Expect.ACCEPTABLE, desc = "cancelled")
  @Outcome(id = "0, 1, 1, 0", expect = Expect.ACCEPTABLE, desc = "done before")
  @State
  public static class SourceAndCancel {
    private final Call call = new Call();

    @Actor
    public void loop() {
      call.peers.become();
      call.peers.net.steps(1);
      call.heard.cancel();
      call.peers.run();
    }

    @Actor
    public void source() {
      call.source.subscriber().onNext(call.peers.item());
      call.source.subscriber().onComplete();
    }

    @Arbiter
    public void judge(IIII_Result result) {
      call.judge(result);
    }
  }

  @JCStressTest
  @Outcome(id = "0, [01], 1, 0", expect = Expect.ACCEPTABLE, desc = "one error, whichever")
  @State
  public static class SourceErrorAndPeerDeath {
    private final Call call = new Call();

    @Actor
    public void loop() {
      call.peers.become();
      call.peers.net.steps(1);
      call.peers.serverDies();
      call.peers.run();
    }

    @Actor
    public void source() {
      call.source.subscriber().onNext(call.peers.item());
      call.source.subscriber().onError(new IllegalStateException("as wanted"));
    }

    @Arbiter
    public void judge(IIII_Result result) {
      call.judge(result);
    }
  }
}
