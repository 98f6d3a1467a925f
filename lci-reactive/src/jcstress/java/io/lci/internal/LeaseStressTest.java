/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.am.InboxOptions;
import io.lci.am.Message;
import io.lci.internal.inbox.InboxImpl;
import io.lci.internal.inbox.Lease;
import io.lci.internal.lane.RecordView;
import io.lci.nativebridge.Codes;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.LL_Result;
import org.openjdk.jcstress.infra.results.L_Result;

/** A lent message that is released and read by several threads, and outlives its memory. */
public class LeaseStressTest {
  private static final Stage STAGE = new Stage(Codes.DONE);
  private static final long VALUE = 0x1111_1111_1111_1111L;
  private static final long ANOTHERS = 0x2222_2222_2222_2222L;

  private static InboxImpl inbox() {
    return new InboxImpl(
        STAGE.operations.runtime.inboxes,
        STAGE.operations.runtime.loops.inboxes.get(0),
        Operations.PORT,
        InboxOptions.defaults());
  }

  /** A message in memory that will be another's. */
  private static Lease inPlace(ByteBuffer memory) {
    return inPlace(inbox(), memory, true);
  }

  private static Lease inPlace(InboxImpl inbox, ByteBuffer memory, boolean staysMapped) {
    for (int i = 0; i < memory.capacity(); i += Long.BYTES) {
      memory.putLong(i, VALUE);
    }
    RecordView view = new RecordView();
    view.moveTo(memory, 0, memory.capacity(), Operations.PEER, 0);
    return Lease.inPlace(inbox.delivery(), view, 1, staysMapped);
  }

  private static ByteBuffer memory(int longs) {
    return ByteBuffer.allocate(longs * Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
  }

  private static void overwrite(ByteBuffer memory) {
    for (int i = 0; i < memory.capacity(); i += Long.BYTES) {
      memory.putLong(i, ANOTHERS);
    }
  }

  private static String shown(long value) {
    return value == VALUE ? "message" : "another's " + Long.toHexString(value);
  }

  private static String read(Lease lease) {
    try {
      return shown(lease.getLong(0));
    } catch (IllegalStateException e) {
      return "released";
    }
  }

  @JCStressTest
  @Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "home once")
  @State
  public static class ReleaseAndRelease {
    private final InboxImpl inbox = inbox();
    private Lease lease;

    public ReleaseAndRelease() {
      STAGE.asLoop(
          () -> {
            inbox.delivery().retain();
            lease =
                STAGE
                    .operations
                    .runtime
                    .loops
                    .inboxes
                    .get(0)
                    .leases
                    .lend(inbox.delivery(), new Message(0, 0, new byte[8]));
          });
    }

    @Actor
    public void loop() {
      STAGE.become();
      lease.release();
    }

    @Actor
    public void other() {
      lease.release();
    }

    @Arbiter
    public void judge(II_Result result) {
      result.r2 = STAGE.leftOver();
      result.r1 = inbox.state().retained();
    }
  }

  @JCStressTest
  @Outcome(id = "message", expect = Expect.ACCEPTABLE, desc = "read before the release")
  @Outcome(id = "released", expect = Expect.ACCEPTABLE, desc = "refused")
  @State
  public static class ReadAndRelease {
    private final ByteBuffer memory = memory(1);
    private final Lease lease = inPlace(memory);

    @Actor
    public void reader(L_Result result) {
      result.r1 = read(lease);
    }

    @Actor
    public void releasing() {
      lease.release();
      overwrite(memory);
    }

    @Arbiter
    public void judge(L_Result result) {
      STAGE.leftOver();
    }
  }

  @JCStressTest
  @Outcome(id = "message, message", expect = Expect.ACCEPTABLE, desc = "from either memory")
  @State
  public static class ReadAndMoveOut {
    private final ByteBuffer memory = memory(4);
    private final Lease lease = inPlace(memory);

    @Actor
    public void reader(LL_Result result) {
      result.r1 = read(lease);
      long[] all = new long[4];
      lease.getLongs(0, all, 0, all.length);
      result.r2 = shown(all[0] == all[1] && all[2] == all[3] && all[0] == all[3] ? all[0] : -1);
    }

    @Actor
    public void loop() {
      lease.moveOut(ByteBuffer::allocate);
      overwrite(memory);
    }
  }

  @JCStressTest
  @Outcome(id = "released", expect = Expect.ACCEPTABLE, desc = "and stays so")
  @State
  public static class ReleaseAndMoveOut {
    private final Lease lease = inPlace(memory(1));

    @Actor
    public void loop() {
      lease.moveOut(ByteBuffer::allocate);
    }

    @Actor
    public void releasing() {
      lease.release();
    }

    @Arbiter
    public void judge(L_Result result) {
      STAGE.leftOver();
      result.r1 = read(lease);
    }
  }

  /** As it would be read if its memory went while it is read. */
  private static String readOnce(Lease lease) {
    try {
      RecordView from = lease.enter();
      try {
        return shown(from.getLong(0));
      } finally {
        lease.leave(from);
      }
    } catch (IllegalStateException e) {
      return "released";
    }
  }

  @JCStressTest
  @Outcome(id = "message", expect = Expect.ACCEPTABLE, desc = "read before the release")
  @Outcome(id = "released", expect = Expect.ACCEPTABLE, desc = "refused")
  @State
  public static class ReadAndUnmap {
    private final ByteBuffer memory = memory(1);
    private final InboxImpl inbox = inbox();
    private final Lease lease = inPlace(inbox, memory, false);

    @Actor
    public void reader(L_Result result) {
      result.r1 = readOnce(lease);
    }

    @Actor
    public void loop() {
      STAGE.become();
      lease.release();
      if (inbox.state().retained() != 0) { // it went home
        overwrite(memory);
      }
    }

    @Arbiter
    public void judge(L_Result result) {
      if (STAGE.leftOver() != 0 || inbox.state().retained() != -1) {
        result.r1 = "not home once";
      }
    }
  }

  @JCStressTest
  @Outcome(id = "message", expect = Expect.ACCEPTABLE, desc = "from either memory")
  @State
  public static class ReadAndMoveOutAndUnmap {
    private final ByteBuffer memory = memory(1);
    private final Lease lease = inPlace(inbox(), memory, false);

    @Actor
    public void reader(L_Result result) {
      result.r1 = readOnce(lease);
    }

    @Actor
    public void loop() {
      lease.moveOut(ByteBuffer::allocate);
      overwrite(memory);
    }
  }

  @JCStressTest
  @Outcome(id = "released", expect = Expect.ACCEPTABLE, desc = "and nobody is waited for")
  @State
  public static class ReleaseAndMoveOutAndUnmap {
    private final InboxImpl inbox = inbox();
    private final Lease lease = inPlace(inbox, memory(1), false);

    @Actor
    public void loop() {
      lease.moveOut(ByteBuffer::allocate);
    }

    @Actor
    public void releasing() {
      lease.release();
    }

    @Arbiter
    public void judge(L_Result result) {
      result.r1 =
          STAGE.leftOver() == 0 && inbox.state().retained() == -1 ? read(lease) : "not home once";
    }
  }
}
