/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.session;

import io.lci.am.Message;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/**
 * A call whose subscriber asks and cancels on another thread. Results: items, ends, and what is
 * left over: an exchange on either side, a source, a dropped signal.
 */
public class ExchangeStressTest {
  private static void judge(Peers peers, Heard<Message> heard, III_Result result) {
    result.r3 = peers.leftOver();
    result.r1 = heard.items.size();
    result.r2 = heard.hasEnded() ? 1 : 0;
  }

  @JCStressTest
  @Outcome(id = "3, 1, 0", expect = Expect.ACCEPTABLE, desc = "all, and the end")
  @State
  public static class RequestAndAnswers {
    private final Peers peers = Peers.answering();
    private final Heard<Message> heard = new Heard<>(1);

    public RequestAndAnswers() {
      peers.call(heard);
    }

    @Actor
    public void loop() {
      peers.run();
    }

    @Actor
    public void subscriber() {
      heard.request(1);
      heard.request(1);
    }

    @Arbiter
    public void judge(III_Result result) {
      ExchangeStressTest.judge(peers, heard, result);
    }
  }

  @JCStressTest
  @Outcome(id = "[0123], 0, 0", expect = Expect.ACCEPTABLE, desc = "cancelled")
  @Outcome(id = "3, 1, 0", expect = Expect.ACCEPTABLE, desc = "all, and the end")
  @State
  public static class CancelAndAnswers {
    private final Peers peers = Peers.answering();
    private final Heard<Message> heard = new Heard<>(5);

    public CancelAndAnswers() {
      peers.call(heard);
    }

    @Actor
    public void loop() {
      peers.run();
    }

    @Actor
    public void subscriber() {
      heard.cancel();
    }

    @Arbiter
    public void judge(III_Result result) {
      ExchangeStressTest.judge(peers, heard, result);
    }
  }

  @JCStressTest
  @Outcome(id = "[0123], 0, 0", expect = Expect.ACCEPTABLE, desc = "cancelled")
  @Outcome(id = "[0123], 1, 0", expect = Expect.ACCEPTABLE, desc = "told of the death")
  @State
  public static class CancelAndPeerDeath {
    private final Peers peers = Peers.answering();
    private final Heard<Message> heard = new Heard<>(5);

    public CancelAndPeerDeath() {
      peers.call(heard);
    }

    @Actor
    public void loop() {
      peers.become();
      peers.net.steps(2);
      peers.serverDies();
      peers.run();
    }

    @Actor
    public void subscriber() {
      heard.cancel();
    }

    @Arbiter
    public void judge(III_Result result) {
      ExchangeStressTest.judge(peers, heard, result);
    }
  }

  @JCStressTest
  @Outcome(id = "[0123], 1, 0", expect = Expect.ACCEPTABLE, desc = "told of the death")
  @State
  public static class RequestAndPeerDeath {
    private final Peers peers = Peers.answering();
    private final Heard<Message> heard = new Heard<>(1);

    public RequestAndPeerDeath() {
      peers.call(heard);
    }

    @Actor
    public void loop() {
      peers.become();
      peers.net.steps(2);
      peers.serverDies();
      peers.run();
    }

    @Actor
    public void subscriber() {
      heard.request(2);
      heard.request(2);
    }

    @Arbiter
    public void judge(III_Result result) {
      ExchangeStressTest.judge(peers, heard, result);
    }
  }
}
