/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.am.Payload;
import io.lci.internal.core.CoreGate;
import io.lci.internal.core.Errors;
import io.lci.internal.memory.MemoryRegionImpl;
import io.lci.internal.memory.RemoteMemoryImpl;
import io.lci.internal.runtime.RuntimeImpl;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.NativeMemory;
import java.nio.ByteBuffer;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.I_Result;

/** Regions of memory: each ends once in the core, whoever uses it and whoever disposes of it. */
public class RegionStressTest {
  private static final Stage STAGE = new Stage(Codes.DONE);
  private static final int SIZE = 64;

  static {
    ScriptedCore core = STAGE.operations.core;
    ScriptedCore.Script otherwise = core.script;
    core.script =
        submitted ->
            submitted.op() == Codes.OP_PUT && core.isGone(submitted.first())
                ? Codes.ERR_MEMORY_CLOSED
                : otherwise.answer(submitted);
  }

  private static RemoteMemoryImpl remote() {
    RuntimeImpl runtime = STAGE.operations.runtime;
    return new RemoteMemoryImpl(
        runtime.core,
        runtime.loops.outboxes.get(0),
        Operations.PEER,
        STAGE.operations.core.object(),
        SIZE);
  }

  private static MemoryRegionImpl region(long handle) {
    ByteBuffer memory = ByteBuffer.allocateDirect(SIZE);
    RuntimeImpl runtime = STAGE.operations.runtime;
    return new MemoryRegionImpl(
        runtime.core, runtime.regions, handle, NativeMemory.address(memory), SIZE, memory);
  }

  /** How often something ended beyond the first time; 1 more if it did not. */
  private static int wrong(long object) {
    ScriptedCore core = STAGE.operations.core;
    return core.freedTwice.get() + (core.isGone(object) ? 0 : 1);
  }

  @JCStressTest
  @Outcome(id = "1, 0, 0", expect = Expect.ACCEPTABLE, desc = "put before the end")
  @Outcome(id = "1, 1, 0", expect = Expect.ACCEPTABLE, desc = "told that it is gone")
  @State
  public static class DisposeAndPut {
    private final RemoteMemoryImpl remote = remote();
    private final Seen<Void> seen = new Seen<>();

    @Actor
    public void loop() {
      STAGE.become();
      remote.put(0, Payload.ofLong(remote.id())).subscribe(seen); // by which the core knows it
      seen.subscription.request(1);
      STAGE.turn();
    }

    @Actor
    public void other() {
      remote.dispose();
    }

    @Arbiter
    public void judge(III_Result result) {
      result.r3 = STAGE.leftOver() + wrong(remote.id()) + seen.afterTheEnd.get();
      result.r1 = seen.ends.get();
      result.r2 = seen.errors.get();
    }
  }

  @JCStressTest
  @Outcome(id = "0", expect = Expect.ACCEPTABLE, desc = "closed once")
  @State
  public static class DisposeAndDisposeRemote {
    private final RemoteMemoryImpl remote = remote();

    @Actor
    public void one() {
      remote.dispose();
    }

    @Actor
    public void other() {
      remote.dispose();
    }

    @Arbiter
    public void judge(I_Result result) {
      result.r1 = wrong(remote.id());
    }
  }

  @JCStressTest
  @Outcome(id = "0", expect = Expect.ACCEPTABLE, desc = "deregistered once")
  @State
  public static class DisposeAndDispose {
    private final long handle = STAGE.operations.core.object();
    private final MemoryRegionImpl region = region(handle);

    @Actor
    public void one() {
      region.dispose();
    }

    @Actor
    public void other() {
      region.disposeLater().subscribe();
    }

    @Arbiter
    public void judge(I_Result result) {
      result.r1 = wrong(handle);
    }
  }

  @JCStressTest
  @Outcome(id = "1, 0", expect = Expect.ACCEPTABLE, desc = "seen before the end")
  @Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "refused")
  @State
  public static class DisposeAndView {
    private final long handle = STAGE.operations.core.object();
    private final MemoryRegionImpl region = region(handle);

    @Actor
    public void reader(II_Result result) {
      try {
        result.r1 = region.view(0, SIZE).remaining() == SIZE ? 1 : 2;
      } catch (IllegalStateException e) {
        result.r1 = 0;
      }
    }

    @Actor
    public void other() {
      region.dispose();
    }

    @Arbiter
    public void judge(II_Result result) {
      result.r2 = wrong(handle);
    }
  }

  /** A core that has been closed is asked nothing. */
  @JCStressTest
  @Outcome(id = "1, 0", expect = Expect.ACCEPTABLE, desc = "asked before")
  @Outcome(id = "0, 0", expect = Expect.ACCEPTABLE, desc = "not asked any more")
  @State
  public static class CloseAndUse {
    private final CoreGate gate = new CoreGate(STAGE.operations.core.calls, Errors::closed);
    private boolean closed;
    private int late;

    @Actor
    public void closing() {
      gate.close(
          () -> {
            closed = true;
            return Codes.DONE;
          });
    }

    @Actor
    public void other(II_Result result) {
      result.r1 =
          (int)
              gate.with(
                  () -> {
                    late = closed ? 1 : 0;
                    return 1;
                  },
                  0);
    }

    @Arbiter
    public void judge(II_Result result) {
      result.r2 = late;
    }
  }
}
