/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.am.InboxOptions;
import io.lci.am.Message;
import io.lci.internal.inbox.InboxImpl;
import io.lci.internal.lane.RecordView;
import io.lci.nativebridge.Codes;
import java.nio.ByteBuffer;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * The tap of an inbox: a message that comes is delivered or kept, whoever asks, leaves and comes.
 */
public class InboxStressTest {
  private static final Stage STAGE = new Stage(Codes.DONE);
  private static final ByteBuffer MEMORY = ByteBuffer.allocate(8);

  private static InboxImpl inbox() {
    return new InboxImpl(
        STAGE.operations.runtime.inboxes,
        STAGE.operations.runtime.loops.inboxes.get(0),
        Operations.PORT,
        InboxOptions.defaults());
  }

  private static void arrive(InboxImpl inbox) {
    RecordView view = new RecordView();
    view.moveTo(MEMORY, 0, MEMORY.capacity(), Operations.PEER, 0);
    inbox.delivery().message(view);
  }

  /** Subscribes, asks for one, and lets the loop know. */
  private static Seen<Message> subscribed(InboxImpl inbox) {
    Seen<Message> seen = new Seen<>();
    STAGE.asLoop(
        () -> {
          inbox.receive().subscribe(seen);
          seen.subscription.request(1);
          STAGE.turns(1);
        });
    return seen;
  }

  @JCStressTest
  @Outcome(id = "1, 0", expect = Expect.ACCEPTABLE, desc = "delivered")
  @Outcome(id = "0, 1", expect = Expect.ACCEPTABLE, desc = "kept for the next subscriber")
  @State
  public static class CancelAndMessage {
    private final InboxImpl inbox = inbox();
    private final Seen<Message> seen = subscribed(inbox);

    @Actor
    public void loop() {
      STAGE.become();
      arrive(inbox);
      STAGE.turn();
    }

    @Actor
    public void subscriber() {
      seen.subscription.cancel();
    }

    @Arbiter
    public void judge(II_Result result) {
      int left = STAGE.leftOver();
      result.r1 = seen.elements.get();
      result.r2 = inbox.depth() + 100 * (left + seen.ends.get());
    }
  }

  @JCStressTest
  @Outcome(id = "2, 0", expect = Expect.ACCEPTABLE, desc = "both delivered")
  @State
  public static class RequestAndMessage {
    private final InboxImpl inbox = inbox();
    private final Seen<Message> seen = subscribed(inbox);

    @Actor
    public void loop() {
      STAGE.become();
      arrive(inbox);
      arrive(inbox);
      STAGE.turn();
    }

    @Actor
    public void subscriber() {
      seen.subscription.request(1);
    }

    @Arbiter
    public void judge(II_Result result) {
      int left = STAGE.leftOver();
      result.r1 = seen.elements.get();
      result.r2 = inbox.depth() + 100 * (left + seen.ends.get());
    }
  }

  @JCStressTest
  @Outcome(id = "1, 0, 0", expect = Expect.ACCEPTABLE, desc = "the first got it")
  @Outcome(id = "0, 1, 0", expect = Expect.ACCEPTABLE, desc = "the next got it")
  @State
  public static class ChangeAndMessage {
    private final InboxImpl inbox = inbox();
    private final Seen<Message> first = subscribed(inbox);
    private final Seen<Message> next = new Seen<>();

    @Actor
    public void loop() {
      STAGE.become();
      arrive(inbox);
      STAGE.turn();
    }

    @Actor
    public void subscribers() {
      first.subscription.cancel();
      inbox.receive().subscribe(next); // a cancelled one makes room at once
      next.subscription.request(1);
    }

    @Arbiter
    public void judge(III_Result result) {
      int left = STAGE.leftOver();
      result.r1 = first.elements.get();
      result.r2 = next.elements.get();
      result.r3 = inbox.depth() + left + first.ends.get() + next.ends.get();
    }
  }

  @JCStressTest
  @Outcome(id = "0, 1, 0", expect = Expect.ACCEPTABLE, desc = "told of the end")
  @State
  public static class DisposeAndSubscribe {
    private final InboxImpl inbox = inbox();
    private final Seen<Message> seen = new Seen<>();

    @Actor
    public void loop() {
      STAGE.become();
      inbox.dispose();
      STAGE.turn();
    }

    @Actor
    public void subscriber() {
      inbox.receive().subscribe(seen);
      seen.subscription.request(1);
    }

    @Arbiter
    public void judge(III_Result result) {
      result.r3 = STAGE.leftOver();
      result.r1 = seen.elements.get();
      result.r2 = seen.ends.get();
    }
  }
}
