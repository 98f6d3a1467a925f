/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import java.lang.invoke.MethodHandle;

/**
 * {@link NativeCalls} by {@code java.lang.foreign}: a downcall handle for each function. The class
 * and its two superclasses are one list, in the header's order.
 *
 * <p>No handle is {@code Linker.Option.critical}: a critical call holds up safepoints for as long
 * as it runs, and an enter may take a whole batch.
 */
final class FfmCalls extends FfmObjectCalls {

  // Lane
  private static final MethodHandle LANE_CREATE = FfmLink.handle("lci_lane_create");
  private static final MethodHandle LANE_MEMORY = FfmLink.handle("lci_lane_memory");
  private static final MethodHandle LANE_DOORBELL = FfmLink.handle("lci_lane_doorbell");
  private static final MethodHandle LANE_PARK_OFFSET = FfmLink.handle("lci_lane_park_offset");
  private static final MethodHandle LANE_SUMMARY_OFFSET = FfmLink.handle("lci_lane_summary_offset");
  private static final MethodHandle LANE_ENTER = FfmLink.handle("lci_lane_enter");
  private static final MethodHandle LANE_HELP = FfmLink.handle("lci_lane_help");
  private static final MethodHandle LANE_PARK = FfmLink.handle("lci_lane_park");
  private static final MethodHandle LANE_WAKE = FfmLink.handle("lci_lane_wake");
  private static final MethodHandle LANE_FREE = FfmLink.handle("lci_lane_free");
  private static final MethodHandle LANE_OPEN_PORT = FfmLink.handle("lci_lane_open_port");
  private static final MethodHandle LANE_OPEN_PART = FfmLink.handle("lci_lane_open_part");
  private static final MethodHandle LANE_ZERO_COPY = FfmLink.handle("lci_lane_zero_copy");
  private static final MethodHandle LANE_CLOSE_PORT = FfmLink.handle("lci_lane_close_port");
  private static final MethodHandle LANE_SYNCHRONIZER_CREATE =
      FfmLink.handle("lci_lane_synchronizer_create");

  // Graphs of a lane
  private static final MethodHandle LANE_GRAPH_CREATE = FfmLink.handle("lci_lane_graph_create");
  private static final MethodHandle LANE_GRAPH_FREE = FfmLink.handle("lci_lane_graph_free");
  private static final MethodHandle LANE_GRAPH_CANCEL = FfmLink.handle("lci_lane_graph_cancel");
  private static final MethodHandle LANE_GRAPH_STATUSES = FfmLink.handle("lci_lane_graph_statuses");

  // Layout
  private static final MethodHandle LAYOUT = FfmLink.handle("lci_layout");

  @Override
  public int laneCreate(long runtime, int firstDevice, int deviceCount, long outLane) {
    try {
      return (int) LANE_CREATE.invokeExact(runtime, firstDevice, deviceCount, outLane);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public int laneMemory(long lane, long outBase, long outLength) {
    try {
      return (int) LANE_MEMORY.invokeExact(lane, outBase, outLength);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public int laneDoorbell(long lane, long outBase, long outLength) {
    try {
      return (int) LANE_DOORBELL.invokeExact(lane, outBase, outLength);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public long laneParkOffset(long lane) {
    try {
      return (long) LANE_PARK_OFFSET.invokeExact(lane);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public long laneSummaryOffset(long lane, int deviceIndex) {
    try {
      return (long) LANE_SUMMARY_OFFSET.invokeExact(lane, deviceIndex);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public int laneEnter(long lane) {
    try {
      return (int) LANE_ENTER.invokeExact(lane);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public int laneHelp(long lane) {
    try {
      return (int) LANE_HELP.invokeExact(lane);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public int lanePark(long lane, long timeoutNanos) {
    try {
      return (int) LANE_PARK.invokeExact(lane, timeoutNanos);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public void laneWake(long lane) {
    try {
      LANE_WAKE.invokeExact(lane);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public int laneFree(long lane) {
    try {
      return (int) LANE_FREE.invokeExact(lane);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public int laneOpenPort(
      long lane,
      int number,
      long name,
      int messages,
      long bytes,
      long outIndex,
      long outBase,
      long outLength) {
    try {
      return (int)
          LANE_OPEN_PORT.invokeExact(
              lane, number, name, messages, bytes, outIndex, outBase, outLength);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public int laneOpenPart(
      long lane,
      int number,
      long name,
      int part,
      int parts,
      int messages,
      long bytes,
      long outIndex,
      long outBase,
      long outLength) {
    try {
      return (int)
          LANE_OPEN_PART.invokeExact(
              lane, number, name, part, parts, messages, bytes, outIndex, outBase, outLength);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public int laneZeroCopy(long lane, int index, int on) {
    try {
      return (int) LANE_ZERO_COPY.invokeExact(lane, index, on);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public int laneClosePort(long lane, int index) {
    try {
      return (int) LANE_CLOSE_PORT.invokeExact(lane, index);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public int laneSynchronizerCreate(long lane, int threshold, long outComp) {
    try {
      return (int) LANE_SYNCHRONIZER_CREATE.invokeExact(lane, threshold, outComp);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public int laneGraphCreate(
      long lane,
      long nodes,
      int nodeCount,
      long edges,
      int edgeCount,
      long ops,
      int opCount,
      long context,
      long outId) {
    try {
      return (int)
          LANE_GRAPH_CREATE.invokeExact(
              lane, nodes, nodeCount, edges, edgeCount, ops, opCount, context, outId);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public int laneGraphFree(long lane, int id) {
    try {
      return (int) LANE_GRAPH_FREE.invokeExact(lane, id);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public int laneGraphCancel(long lane, int id) {
    try {
      return (int) LANE_GRAPH_CANCEL.invokeExact(lane, id);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public int laneGraphStatuses(long lane, int id, int first, int count, long out) {
    try {
      return (int) LANE_GRAPH_STATUSES.invokeExact(lane, id, first, count, out);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }

  @Override
  public int layout(long out, int count) {
    try {
      return (int) LAYOUT.invokeExact(out, count);
    } catch (Throwable e) {
      throw FfmLink.thrown(e);
    }
  }
}
