/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.internal.lane;

import io.lci.internal.core.Errors;
import io.lci.internal.loop.LoopBell;
import io.lci.nativebridge.Codes;
import io.lci.nativebridge.Layout;
import io.lci.nativebridge.NativeCalls;
import io.lci.nativebridge.NativeMemory;
import io.lci.nativebridge.NativeScratch;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The block of memory between a loop and the core, and the calls that serve it. Between two enters
 * the block belongs to the loop, so its words are plain; only the doorbell area is written by
 * others meanwhile. [V1-V11]
 */
public final class Lane implements LoopBell {
  private static final VarHandle INTS =
      MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle LONGS =
      MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  public final NativeCalls calls;
  public final Layout layout;
  public final long handle;
  final ByteBuffer memory;
  private final int control;
  private final ByteBuffer doorbell;
  private final int parkWord;
  private final int firstDevice;

  /** Handle of each device. */
  private final long[] deviceHandles;

  /** Where the summary of each device starts; each has {@link #summaryLength} bytes. */
  private final int[] summaries;

  private final int summaryLength;
  private final int recordMask;

  /** Changed where no call is inside the core, read by helping threads. */
  private boolean freed;

  /** A flag of every enter once this rank leaves; 0 before. Loop only. */
  private int leaving;

  private Lane(
      NativeCalls calls,
      Layout layout,
      long handle,
      NativeMemory block,
      NativeMemory bell,
      int firstDevice,
      long[] deviceHandles,
      int ranks,
      int records) {
    this.calls = calls;
    this.layout = layout;
    this.handle = handle;
    this.memory = block.buffer();
    this.control = layout.controlOffset();
    this.doorbell = bell.buffer();
    this.parkWord = Math.toIntExact(calls.laneParkOffset(handle));
    this.firstDevice = firstDevice;
    this.deviceHandles = deviceHandles;
    this.summaries = new int[deviceHandles.length];
    for (int i = 0; i < summaries.length; i++) {
      summaries[i] = Math.toIntExact(calls.laneSummaryOffset(handle, i));
    }
    this.summaryLength = (ranks + 7) & ~7;
    this.recordMask = records - 1;
  }

  /**
   * Creates the lane that owns {@code devices} devices from {@code device} on; its completion ring
   * has {@code records}, a power of two.
   */
  public static Lane open(
      NativeCalls calls,
      Layout layout,
      long runtime,
      int device,
      int devices,
      int ranks,
      int records) {
    NativeScratch out = new NativeScratch(2);
    Errors.check(
        calls, calls.laneCreate(runtime, device, devices, out.address(0)), "open lane", device);
    long handle = out.getLong(0);
    try {
      Errors.check(
          calls, calls.laneMemory(handle, out.address(0), out.address(1)), "map lane", device);
      NativeMemory block = NativeMemory.wrap(out.getLong(0), out.getLong(1));
      Errors.check(
          calls,
          calls.laneDoorbell(handle, out.address(0), out.address(1)),
          "map doorbell",
          device);
      NativeMemory bell = NativeMemory.wrap(out.getLong(0), out.getLong(1));
      long[] handles = new long[devices];
      for (int i = 0; i < devices; i++) {
        Errors.check(
            calls,
            calls.runtimeDevice(runtime, device + i, out.address(0)),
            "find device",
            device + i);
        handles[i] = out.getLong(0);
      }
      return new Lane(calls, layout, handle, block, bell, device, handles, ranks, records);
    } catch (Throwable e) {
      calls.laneFree(handle); // its devices are for others again
      throw e;
    }
  }

  public int firstDevice() {
    return firstDevice;
  }

  public int deviceCount() {
    return summaries.length;
  }

  /**
   * The index in the lane of a device of the runtime; that of the first one for those of others.
   */
  public int indexOf(int device) {
    int index = device - firstDevice;
    return index >= 0 && index < deviceCount() ? index : 0;
  }

  /** The handle of the device {@code index} of the lane. */
  long deviceHandle(int index) {
    return deviceHandles[index];
  }

  // Submission and completion

  public int submissionOffset() {
    return layout.submissionOffset();
  }

  public int submissionCount() {
    return layout.submissionCount();
  }

  /**
   * Serves the lane once with {@code LCI_ENTER_*} flags and the first {@code entries} of the
   * submission array.
   */
  public int enter(int flags, int entries) {
    memory.putInt(control + Layout.CONTROL_FLAGS, flags | leaving);
    memory.putInt(control + Layout.CONTROL_SUBMIT_COUNT, entries);
    return calls.laneEnter(handle);
  }

  public int outcome(int entry) {
    return memory.getShort(
            layout.submissionOffset() + entry * Layout.DESCRIPTOR_SIZE + Layout.DESCRIPTOR_OUTCOME)
        & 0xFFFF;
  }

  /** The tag of a descriptor, where the core leaves the answer of an atomic operation. */
  public long tag(int entry) {
    return memory.getLong(
        layout.submissionOffset() + entry * Layout.DESCRIPTOR_SIZE + Layout.DESCRIPTOR_TAG);
  }

  int completionHead() {
    return memory.getInt(control + Layout.CONTROL_CQ_HEAD);
  }

  void completionHead(int value) {
    memory.putInt(control + Layout.CONTROL_CQ_HEAD, value);
  }

  int completionTail() {
    return memory.getInt(control + Layout.CONTROL_CQ_TAIL);
  }

  /** Offset of record number {@code index}, which runs freely. */
  int record(int index) {
    return layout.completionOffset() + (index & recordMask) * Layout.RECORD_SIZE;
  }

  /** Moves when the device {@code index} has room again after it refused. */
  public int generation(int index) {
    return memory.getInt(control + Layout.CONTROL_GENERATION + index * Integer.BYTES);
  }

  public int moved() {
    return memory.getInt(control + Layout.CONTROL_MOVED);
  }

  int inFlight() {
    return memory.getInt(control + Layout.CONTROL_IN_FLIGHT);
  }

  public long lateWakes() {
    return memory.getLong(control + Layout.CONTROL_LATE_WAKES);
  }

  /** Time in CLOCK_MONOTONIC nanoseconds by which the core wants an enter, or 0. */
  long nextDeadline() {
    return memory.getLong(control + Layout.CONTROL_NEXT_DEADLINE);
  }

  /** How long an enter goes on with calls of groups when nothing moves; 0: one pass. */
  public void spinNanos(long value) {
    memory.putLong(control + Layout.CONTROL_SPIN_NS, value);
  }

  // Packet cache

  int cachedPackets() {
    return memory.getInt(control + Layout.CONTROL_PACKET_COUNT);
  }

  int takeCachedPacket() {
    int count = cachedPackets() - 1;
    memory.putInt(control + Layout.CONTROL_PACKET_COUNT, count);
    return memory.getInt(control + Layout.CONTROL_PACKETS + count * Integer.BYTES);
  }

  void giveCachedPacket(int packet) {
    int count = cachedPackets();
    memory.putInt(control + Layout.CONTROL_PACKETS + count * Integer.BYTES, packet);
    memory.putInt(control + Layout.CONTROL_PACKET_COUNT, count + 1);
  }

  // Demand table

  private int demand(int index) {
    return layout.demandOffset() + index * Layout.DEMAND_SIZE;
  }

  public void requested(int index, long value) {
    memory.putLong(demand(index) + Layout.DEMAND_REQUESTED, value);
  }

  public long delivered(int index) {
    return memory.getLong(demand(index) + Layout.DEMAND_DELIVERED);
  }

  /** Any thread: a recent value, read before whatever the caller reads next. */
  public int depth(int index) {
    return (int) INTS.getAcquire(memory, demand(index) + Layout.DEMAND_DEPTH);
  }

  /** Messages of peers that are gone, which wait for room at the port. */
  public int leftBehind(int index) {
    return memory.getInt(demand(index) + Layout.DEMAND_LEFT_BEHIND);
  }

  // Doorbell

  /** Whether an enter would find something although nothing is submitted. [V9] */
  @Override
  public boolean rings(long nowNanos) {
    for (int summary : summaries) {
      for (int i = summary; i < summary + summaryLength; i += Long.BYTES) {
        if ((long) LONGS.getAcquire(doorbell, i) != 0) {
          return true;
        }
      }
    }
    if ((int) INTS.getAcquire(memory, control + Layout.CONTROL_MUST_ENTER) != 0) {
      return true;
    }
    long deadline = nextDeadline();
    return deadline != 0 && nowNanos - deadline >= 0;
  }

  /** Announces that the loop is about to sleep; look at every queue again after this. [V11] */
  @Override
  public void announcePark() {
    INTS.setVolatile(doorbell, parkWord, 1);
    VarHandle.fullFence();
  }

  @Override
  public void withdrawPark() {
    INTS.setVolatile(doorbell, parkWord, 0);
  }

  @Override
  public boolean isParkAnnounced() {
    return (int) INTS.getVolatile(doorbell, parkWord) != 0;
  }

  @Override
  public int park(long timeoutNanos) {
    return calls.lanePark(handle, timeoutNanos);
  }

  @Override
  public void wake() {
    calls.laneWake(handle);
  }

  // Fences

  /** Begins a fence of the device {@code index}; returns its number. */
  public long fence(int index) {
    NativeScratch out = new NativeScratch(1);
    Errors.check(
        calls, calls.laneFence(handle, index, out.address(0)), "begin fence", firstDevice + index);
    return out.getLong(0);
  }

  /** Whether what the device {@code index} had posted before the fence has ended and left. */
  public boolean isPassed(int index, long fence) {
    int code = calls.laneFencePassed(handle, index, fence);
    if (code == Codes.RETRY) {
      return false;
    }
    Errors.check(calls, code, "look at fence", firstDevice + index);
    return true;
  }

  /** How far the device {@code index} has written to a rank; less than 0: nothing yet. */
  public long sent(int index, int rank) {
    NativeScratch out = new NativeScratch(1);
    int code = calls.laneSent(handle, index, rank, out.address(0));
    if (code == Codes.RETRY) {
      return -1;
    }
    Errors.check(calls, code, "look at what was sent", firstDevice + index);
    return Integer.toUnsignedLong(out.getInt(0));
  }

  /**
   * Whether the device {@code index} has all that a rank had written to it before a position: the
   * native code, an error if the rank is gone.
   */
  public int delivered(int index, int rank, int position) {
    return calls.laneDelivered(handle, index, rank, position);
  }

  // Ports

  /** What ports had that close from now on ends with the departure of this rank. */
  public void leave() {
    leaving = Codes.ENTER_LEAVING;
    memory.putInt(control + Layout.CONTROL_FLAGS, leaving);
  }

  public int closePort(int index) {
    return calls.laneClosePort(handle, index);
  }

  /**
   * Progresses the devices for a loop that is elsewhere; returns whether anything moved. Any
   * thread, but not beside {@link #free}.
   */
  public boolean help() {
    if (freed) {
      return false;
    }
    int code = calls.laneHelp(handle);
    if (code == Codes.RETRY) {
      return false;
    }
    Errors.check(calls, code, "help lane", firstDevice);
    return true;
  }

  public void free() {
    freed = true;
    Errors.check(calls, calls.laneFree(handle), "free lane", -1);
  }

  static boolean isIdle(int code) {
    return code == Codes.RETRY;
  }
}
