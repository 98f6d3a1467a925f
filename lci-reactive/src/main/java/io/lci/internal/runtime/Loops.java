/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.runtime;

import io.lci.LciOptions;
import io.lci.error.LciException.Detail;
import io.lci.error.ResourceExhaustedException;
import io.lci.internal.core.CoreRuntime;
import io.lci.internal.core.Thrown;
import io.lci.internal.inbox.InboxLoop;
import io.lci.internal.lane.Dispatcher;
import io.lci.internal.lane.Lane;
import io.lci.internal.loop.EventLoop;
import io.lci.internal.loop.LoopHost;
import io.lci.internal.loop.PerLoop;
import io.lci.internal.post.OpCheck;
import io.lci.internal.post.Outbox;
import io.lci.nativebridge.Layout;
import io.lci.nativebridge.NativeScratch;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The loops of a runtime, each with its lane and what it serves over it. Some may be added while it
 * runs. Any thread.
 */
public final class Loops {
  private static final String ADD = "add loop";

  public final PerLoop<EventLoop> all;
  public final PerLoop<Outbox> outboxes;
  public final PerLoop<InboxLoop> inboxes;

  /** That of loop 0, where completion objects hear of their signals. */
  final Dispatcher dispatcher;

  /** A loop, and what it serves. */
  private record Served(EventLoop loop, Lane lane, LaneWork work) {}

  private final CoreRuntime core;
  private final LoopHost host;
  private final OpCheck check;
  private final List<Lane> lanes; // of the loops that were there from the start

  /** An addition failed when the core had the device already: the next one takes it. */
  private boolean hasSpareDevice; // guarded by this

  private Loops(CoreRuntime core, LoopHost host, OpCheck check, List<Served> served, int[] homes) {
    this.core = core;
    this.host = host;
    this.check = check;
    this.lanes = served.stream().map(one -> one.lane).toList();
    this.all = new PerLoop<>(served.stream().map(one -> one.loop).toList(), homes);
    this.outboxes = new PerLoop<>(served.stream().map(one -> one.work.outbox).toList(), homes);
    this.inboxes = new PerLoop<>(served.stream().map(one -> one.work.inboxes).toList(), homes);
    this.dispatcher = served.get(0).work.dispatcher;
  }

  /** Opens a lane for each loop, over devices next to each other. */
  static Loops open(CoreRuntime core, LoopHost host, OpCheck check) {
    LciOptions options = core.options;
    int[] homes = new int[options.devices()];
    List<Served> served = new ArrayList<>();
    try {
      for (int i = 0, device = 0; i < options.loops(); i++) {
        int devices =
            (options.devices() - device) / (options.loops() - i); // the last ones get more
        served.add(serve(core, host, check, i, device, devices));
        Arrays.fill(homes, device, device + devices, i);
        device += devices;
      }
      Loops loops = new Loops(core, host, check, served, homes);
      loops.all.all().forEach(loop -> loop.mayHelp(loops.all.all()));
      return loops;
    } catch (Throwable e) {
      served.forEach(one -> one.lane.free()); // the core does not close under a lane
      throw e;
    }
  }

  /** Opens a lane over devices next to each other, and makes the loop that serves it. */
  private static Served serve(
      CoreRuntime core, LoopHost host, OpCheck check, int index, int device, int devices) {
    int records = completionRecords(core.layout, core.options);
    Lane lane =
        Lane.open(core.calls, core.layout, core.handle, device, devices, core.size, records);
    try {
      List<Integer> numbers = IntStream.range(device, device + devices).boxed().toList();
      LaneWork[] work = new LaneWork[1];
      EventLoop loop =
          new EventLoop(
              core, host, index, numbers, lane, made -> work[0] = new LaneWork(made, lane, check));
      return new Served(loop, lane, work[0]);
    } catch (Throwable e) {
      lane.free();
      throw e;
    }
  }

  /** The layout tells the default; an attribute may choose another size. */
  private static int completionRecords(Layout layout, LciOptions options) {
    String chosen = options.attributes().get("lane_completions");
    return chosen == null ? layout.completionCount() : Integer.parseInt(chosen);
  }

  /** Gives the lanes of loops that were never started back. */
  void free() {
    lanes.forEach(Lane::free);
  }

  /**
   * Starts the threads of dedicated loops. If one cannot start, the loops that run are ended, then
   * the core, and nothing is left of the runtime.
   *
   * @param threads makes the thread of a loop
   * @throws ResourceExhaustedException if there is no room for another thread
   */
  void start(Function<? super EventLoop, ? extends Thread> threads, Shutdown shutdown) {
    int index = 0;
    List<EventLoop> loops = all.all();
    try {
      for (; index < loops.size(); index++) {
        loops.get(index).start(threads);
      }
    } catch (Throwable e) { // an OutOfMemoryError, where the system has no more threads
      throw cannotStart(
          "create runtime",
          loops.get(index),
          e,
          shutdown.abandon(loops.subList(index, loops.size())));
    }
  }

  /**
   * Adds a loop with a device of its own.
   *
   * @param threads makes its thread; null: it is driven by its invoker
   * @throws ResourceExhaustedException if there is no room for another loop, device or thread
   * @throws io.lci.error.LciClosedException if the runtime is about to end
   */
  synchronized EventLoop add(
      @Nullable Function<? super EventLoop, ? extends Thread> threads, Shutdown shutdown) {
    int index = all.all().size();
    int device = all.devices();
    shutdown.expectLoop(); // the core stays
    Served added;
    try {
      addDevice(device);
      added = serve(core, host, check, index, device, 1);
    } catch (Throwable e) {
      shutdown.loopEnded();
      throw e;
    }
    begin(added, threads, shutdown);
    hasSpareDevice = false;
    return added.loop;
  }

  private void addDevice(int device) {
    if (hasSpareDevice) {
      return;
    }
    NativeScratch out = new NativeScratch(1);
    core.gate.ask(ADD, device, () -> core.calls.deviceAdd(core.handle, out.address(0)));
    hasSpareDevice = true;
  }

  /** Others find it from its first turn on, and help it from then on. */
  private void begin(
      Served added,
      @Nullable Function<? super EventLoop, ? extends Thread> threads,
      Shutdown shutdown) {
    EventLoop loop = added.loop;
    outboxes.add(added.work.outbox);
    inboxes.add(added.work.inboxes);
    all.add(loop);
    loop.mayHelp(all.all());
    shutdown.add(loop);
    try {
      if (threads != null) {
        loop.start(threads);
      }
    } catch (Throwable e) { // an OutOfMemoryError, where the system has no more threads
      shutdown.remove(loop);
      all.removeLast();
      inboxes.removeLast();
      outboxes.removeLast();
      loop.neverStarted();
      core.gate.alone(added.lane::free);
      shutdown.loopEnded();
      throw cannotStart(ADD, loop, e, null);
    }
    List<EventLoop> now = all.all();
    for (EventLoop other : now) {
      if (other != loop) {
        other.execute(() -> other.mayHelp(now));
      }
    }
  }

  private static ResourceExhaustedException cannotStart(
      String operation, EventLoop loop, Throwable reason, @Nullable Throwable atClose) {
    ResourceExhaustedException error =
        new ResourceExhaustedException(
            Detail.of(
                operation,
                "error_exhausted",
                "the thread of " + loop + " cannot start: " + Thrown.text(reason)));
    error.initCause(reason);
    if (atClose != null) {
      error.addSuppressed(atClose);
    }
    return error;
  }
}
