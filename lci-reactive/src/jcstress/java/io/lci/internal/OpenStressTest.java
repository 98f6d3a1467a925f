/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.am.Inbox;
import io.lci.am.InboxOptions;
import io.lci.am.Message;
import io.lci.am.Port;
import io.lci.internal.inbox.InboxImpl;
import io.lci.internal.lane.RecordView;
import io.lci.nativebridge.Codes;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/**
 * Ports that open: while a message comes, while they are disposed of, while the inbox before them
 * ends, and by two threads at a time.
 */
public class OpenStressTest {
  private static final Stage STAGE = new Stage(Codes.DONE);
  private static final ByteBuffer MEMORY = ByteBuffer.allocate(8);
  private static final AtomicInteger PORTS = new AtomicInteger();

  /** By port that the core has open: how often. The core would refuse the second time. */
  private static final Map<Integer, AtomicInteger> OPEN = new ConcurrentHashMap<>();

  static {
    STAGE.operations.core.opening = number -> OPEN.get(number).incrementAndGet();
  }

  /** A port that no other state has. */
  private static Port port() {
    Port port = Port.of(1 + PORTS.getAndIncrement() % (Port.MAX_NUMBER - 1), "raced");
    OPEN.put(port.number(), new AtomicInteger());
    return port;
  }

  /** An inbox that opens at the loop's next turn. */
  private static InboxImpl asked(Port port) {
    return (InboxImpl) STAGE.operations.runtime.inbox(port, InboxOptions.defaults());
  }

  private static InboxImpl open(Port port) {
    InboxImpl[] inbox = new InboxImpl[1];
    STAGE.asLoop(() -> inbox[0] = asked(port));
    return inbox[0];
  }

  private static Seen<Void> end(Inbox inbox) {
    Seen<Void> end = new Seen<>();
    inbox.onClose().subscribe(end);
    end.subscription.request(1);
    return end;
  }

  /** How often the core opened it. */
  private static int opened(Port port) {
    return OPEN.get(port.number()).get();
  }

  @JCStressTest
  @Outcome(id = "1, 0, 0", expect = Expect.ACCEPTABLE, desc = "delivered")
  @State
  public static class OpenAndSubscribe {
    private final Port port = port();
    private final InboxImpl inbox = asked(port);
    private final Seen<Message> seen = new Seen<>();

    @Actor
    public void loop() {
      STAGE.turn(); // opens it, and a message is there
      RecordView view = new RecordView();
      view.moveTo(MEMORY, 0, MEMORY.capacity(), Operations.PEER, 0);
      inbox.delivery().message(view);
      STAGE.turn();
    }

    @Actor
    public void subscriber() {
      inbox.receive().subscribe(seen);
      seen.subscription.request(1);
    }

    @Arbiter
    public void judge(III_Result result) {
      int left = STAGE.leftOver();
      result.r1 = seen.elements.get();
      result.r2 = seen.ends.get() + inbox.depth();
      inbox.dispose();
      result.r3 = left + STAGE.leftOver() + seen.afterTheEnd.get() + (opened(port) == 1 ? 0 : 10);
    }
  }

  @JCStressTest
  @Outcome(id = "0, 1, 0", expect = Expect.ACCEPTABLE, desc = "told that it is gone, or of its end")
  @State
  public static class OpenAndDispose {
    private final Port port = port();
    private final InboxImpl inbox = asked(port);
    private final Seen<Message> seen = new Seen<>();
    private final Seen<Void> end = end(inbox);

    public OpenAndDispose() {
      inbox.receive().subscribe(seen);
      seen.subscription.request(1);
    }

    @Actor
    public void loop() {
      STAGE.turn();
    }

    @Actor
    public void other() {
      inbox.dispose();
    }

    @Arbiter
    public void judge(III_Result result) {
      result.r3 = STAGE.leftOver() + (end.ends.get() == 1 ? 0 : 10) + seen.afterTheEnd.get();
      result.r1 = seen.elements.get();
      result.r2 = seen.ends.get();
    }
  }

  @JCStressTest
  @Outcome(id = "1, 0, 0", expect = Expect.ACCEPTABLE, desc = "one inbox for both, open")
  @State
  public static class OpenAndOpen {
    private final Port port = port();
    private Inbox first;
    private Inbox second;

    @Actor
    public void loop() {
      STAGE.become();
      first = asked(port);
      STAGE.turn();
    }

    @Actor
    public void other() {
      second = asked(port);
    }

    @Arbiter
    public void judge(III_Result result) {
      int left = STAGE.leftOver();
      result.r1 = opened(port);
      result.r2 = first == second && !first.isDisposed() ? 0 : 1;
      first.dispose();
      result.r3 = left + STAGE.leftOver();
    }
  }

  @JCStressTest
  @Outcome(id = "0, 1, 0", expect = Expect.ACCEPTABLE, desc = "got the one that ends")
  @Outcome(id = "1, 2, 0", expect = Expect.ACCEPTABLE, desc = "got one of his own, which is open")
  @State
  public static class DisposeAndOpen {
    private final Port port = port();
    private final InboxImpl before = open(port);
    private final Seen<Void> end = end(before);
    private boolean gone;
    private Inbox next;

    @Actor
    public void loop() {
      STAGE.become();
      before.dispose();
      STAGE.turn();
    }

    @Actor
    public void other() {
      gone = before.isDisposed();
      next = asked(port);
    }

    @Arbiter
    public void judge(III_Result result) {
      int left = STAGE.leftOver();
      result.r1 = next == before ? 0 : 1;
      result.r2 = opened(port);
      boolean ended = end.ends.get() == 1 && before.isDisposed();
      boolean kept = next == before ? !gone : !next.isDisposed();
      next.dispose();
      result.r3 = left + STAGE.leftOver() + (ended && kept ? 0 : 10);
    }
  }
}
