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
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** The loops of a runtime, each with its lane and what it serves over it. Any thread. */
public final class Loops {
  public final PerLoop<EventLoop> all;
  public final PerLoop<Outbox> outboxes;
  public final PerLoop<InboxLoop> inboxes;

  /** That of loop 0, where completion objects hear of their signals. */
  final Dispatcher dispatcher;

  private final List<Lane> lanes;

  private Loops(List<Lane> lanes, List<EventLoop> loops, List<LaneWork> works, int[] homes) {
    this.lanes = lanes;
    this.all = new PerLoop<>(loops, homes);
    this.outboxes = new PerLoop<>(works.stream().map(work -> work.outbox).toList(), homes);
    this.inboxes = new PerLoop<>(works.stream().map(work -> work.inboxes).toList(), homes);
    this.dispatcher = works.get(0).dispatcher;
  }

  /** Opens a lane for each loop, over devices next to each other. */
  static Loops open(CoreRuntime core, LoopHost host, OpCheck check) {
    LciOptions options = core.options;
    int records = completionRecords(core.layout, options);
    int[] homes = new int[options.devices()];
    List<Lane> lanes = new ArrayList<>();
    List<EventLoop> loops = new ArrayList<>();
    List<LaneWork> works = new ArrayList<>();
    try {
      for (int i = 0, device = 0; i < options.loops(); i++) {
        int devices =
            (options.devices() - device) / (options.loops() - i); // the last ones get more
        Lane lane =
            Lane.open(core.calls, core.layout, core.handle, device, devices, core.size, records);
        lanes.add(lane);
        List<Integer> served = IntStream.range(device, device + devices).boxed().toList();
        loops.add(
            new EventLoop(
                core,
                host,
                i,
                served,
                lane,
                loop -> {
                  LaneWork work = new LaneWork(loop, lane, check);
                  works.add(work);
                  return work;
                }));
        Arrays.fill(homes, device, device + devices, i);
        device += devices;
      }
      loops.forEach(loop -> loop.mayHelp(loops));
      return new Loops(lanes, loops, works, homes);
    } catch (Throwable e) {
      lanes.forEach(Lane::free); // the core does not close under a lane
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
      throw cannotStart(loops.get(index), e, shutdown.abandon(loops.subList(index, loops.size())));
    }
  }

  private static ResourceExhaustedException cannotStart(
      EventLoop loop, Throwable reason, @Nullable Throwable atClose) {
    ResourceExhaustedException error =
        new ResourceExhaustedException(
            Detail.of(
                "create runtime",
                "error_exhausted",
                "the thread of " + loop + " cannot start: " + Thrown.text(reason)));
    error.initCause(reason);
    if (atClose != null) {
      error.addSuppressed(atClose);
    }
    return error;
  }
}
