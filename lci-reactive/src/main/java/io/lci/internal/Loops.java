/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal;

import io.lci.LciOptions;
import io.lci.error.LciException.Detail;
import io.lci.error.ResourceExhaustedException;
import io.lci.nativebridge.Layout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The loops of a runtime, each with its lane, and the devices that they serve. Any thread. */
final class Loops {
  private final List<EventLoop> loops = new ArrayList<>();

  /** By device, the loop that serves it. */
  private final EventLoop[] homes;

  private Loops(int devices) {
    this.homes = new EventLoop[devices];
  }

  /** Opens a lane for each loop, over devices next to each other. */
  static Loops open(CoreRuntime core, LoopHost host, OpCheck check) {
    LciOptions options = core.options;
    Loops opened = new Loops(options.devices());
    int records = completionRecords(core.layout, options);
    List<Lane> lanes = new ArrayList<>();
    try {
      for (int i = 0, device = 0; i < options.loops(); i++) {
        int devices =
            (options.devices() - device) / (options.loops() - i); // the last ones get more
        Lane lane =
            Lane.open(core.calls, core.layout, core.handle, device, devices, core.size, records);
        lanes.add(lane);
        EventLoop loop = new EventLoop(core, host, check, i, lane);
        opened.loops.add(loop);
        Arrays.fill(opened.homes, device, device + devices, loop);
        device += devices;
      }
      return opened;
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
    loops.forEach(loop -> loop.lane().free());
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

  List<EventLoop> all() {
    return loops;
  }

  EventLoop get(int index) {
    if (index < 0 || index >= loops.size()) {
      throw new IllegalArgumentException(
          "this runtime has loops 0 to " + (loops.size() - 1) + ": " + index);
    }
    return loops.get(index);
  }

  /** The loop that serves a device. */
  EventLoop of(int device) {
    if (device < 0 || device >= homes.length) {
      throw new IllegalArgumentException(
          "this runtime has devices 0 to " + (homes.length - 1) + ": " + device);
    }
    return homes[device];
  }
}
