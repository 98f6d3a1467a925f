/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.samples.bench.boundary;

import io.lci.nativebridge.Codes;
import io.lci.nativebridge.Layout;
import io.lci.nativebridge.NativeCalls;
import io.lci.nativebridge.NativeLibrary;
import io.lci.nativebridge.NativeMemory;
import io.lci.nativebridge.NativeScratch;
import java.nio.ByteBuffer;

/** One rank with one lane, driven as the benchmark in C drives it. One thread. */
final class RawLane implements AutoCloseable {
  private static final int ALL = Codes.ENTER_POST | Codes.ENTER_PROGRESS | Codes.ENTER_DRAIN;
  private static final int CLOSE_MILLIS = 1_000;

  private final NativeCalls calls;
  private final Layout layout;
  private final NativeScratch out = new NativeScratch(3);
  private final long runtime;
  private final long lane;
  private final ByteBuffer memory;
  private final int control;
  private final int submissions;
  private final int records;
  private final int mask;

  /** Joins the job that the environment names. */
  RawLane() {
    NativeLibrary library = NativeLibrary.load();
    calls = library.calls();
    layout = library.layout();
    check(calls.attrsCreate(out.address(0)), "attributes");
    long attributes = out.getLong(0);
    check(calls.runtimeCreate(attributes, 0, 0, out.address(0)), "create runtime");
    runtime = out.getLong(0);
    calls.attrsFree(attributes);
    check(calls.laneCreate(runtime, 0, 1, out.address(0)), "create lane");
    lane = out.getLong(0);
    check(calls.laneMemory(lane, out.address(0), out.address(1)), "map lane");
    memory = NativeMemory.wrap(out.getLong(0), out.getLong(1)).buffer();
    control = layout.controlOffset();
    submissions = layout.submissionOffset();
    records = layout.completionOffset();
    mask = layout.completionCount() - 1;
    memory.putInt(control + Layout.CONTROL_FLAGS, ALL);
  }

  int rank() {
    return calls.runtimeRank(runtime);
  }

  /** Opens a port with demand without end. */
  void open(int port) {
    ByteBuffer name = NativeMemory.cString("");
    int code =
        calls.laneOpenPort(
            lane,
            port,
            NativeMemory.address(name),
            0,
            0,
            out.address(0),
            out.address(1),
            out.address(2));
    java.lang.ref.Reference.reachabilityFence(name);
    check(code, "open port");
    memory.putLong(
        layout.demandOffset() + out.getInt(0) * Layout.DEMAND_SIZE + Layout.DEMAND_REQUESTED,
        Long.MAX_VALUE / 2);
  }

  /** Writes descriptor {@code index}: a message of eight bytes. */
  void message(int index, int rank, int port, long value) {
    int at = submissions + index * Layout.DESCRIPTOR_SIZE;
    memory.put(at + Layout.DESCRIPTOR_OP, (byte) Codes.OP_AM);
    memory.put(at + Layout.DESCRIPTOR_FLAGS, (byte) 0);
    memory.putInt(at + Layout.DESCRIPTOR_RANK, rank);
    memory.putShort(at + Layout.DESCRIPTOR_PORT, (short) port);
    memory.put(at + Layout.DESCRIPTOR_DEVICE, (byte) 0);
    memory.putInt(at + Layout.DESCRIPTOR_SIZE_FIELD, Long.BYTES);
    memory.putLong(at + Layout.DESCRIPTOR_TAG, value);
    memory.putLong(at + Layout.DESCRIPTOR_PAYLOAD, value);
  }

  /** Enters with the first {@code count} descriptors. */
  void enter(int count) {
    memory.putInt(control + Layout.CONTROL_SUBMIT_COUNT, count);
    check(calls.laneEnter(lane), "enter");
  }

  /** Whether descriptor {@code index} was taken; false: it is to be tried again. */
  boolean taken(int index) {
    int outcome =
        memory.getShort(submissions + index * Layout.DESCRIPTOR_SIZE + Layout.DESCRIPTOR_OUTCOME)
            & 0xFFFF;
    check(outcome, "post");
    return outcome < Codes.RETRY;
  }

  /**
   * Reads all records; returns the number of messages, and adds their payloads to {@code sum[0]}.
   */
  int received(long[] sum) {
    int head = memory.getInt(control + Layout.CONTROL_CQ_HEAD);
    int tail = memory.getInt(control + Layout.CONTROL_CQ_TAIL);
    int count = 0;
    while (head != tail) {
      int at = records + (head & mask) * Layout.RECORD_SIZE;
      int kind = memory.get(at + Layout.RECORD_KIND);
      if (kind == Codes.RECORD_MESSAGE) {
        sum[0] += memory.getLong(at + Layout.RECORD_PAYLOAD);
        count++;
      }
      head += kind == Codes.RECORD_PAD ? memory.getInt(at + Layout.RECORD_SIZE_FIELD) : 1;
    }
    memory.putInt(control + Layout.CONTROL_CQ_HEAD, head);
    return count;
  }

  @Override
  public void close() {
    check(calls.laneFree(lane), "free lane");
    check(calls.runtimeClose(runtime, CLOSE_MILLIS), "close");
  }

  private void check(int code, String what) {
    if (code >= Codes.ERR_ARGUMENT) {
      throw new IllegalStateException(what + ": " + NativeMemory.string(calls.lastError()));
    }
  }
}
