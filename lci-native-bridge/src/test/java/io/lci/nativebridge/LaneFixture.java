/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** A job of one rank with one lane, driven by the test's thread, with no more than the bridge. */
final class LaneFixture implements AutoCloseable {

  private static final int ALL = Codes.ENTER_POST | Codes.ENTER_PROGRESS | Codes.ENTER_DRAIN;

  /** One completion record with its payload. */
  record Event(int kind, int code, int port, int index, long tag, long context, byte[] payload) {}

  final NativeCalls calls;
  final long runtime;
  final long lane;
  private final Layout layout;
  private final ByteBuffer block;
  private final NativeScratch scratch = new NativeScratch(4);
  private final long job;
  private int submitted;

  LaneFixture(NativeLibrary library) {
    calls = library.calls();
    layout = library.layout();
    require(library, calls.inprocCreate(1, scratch.address(0)));
    job = scratch.getLong(0);
    require(library, calls.runtimeCreate(0, job, 0, scratch.address(0)));
    runtime = scratch.getLong(0);
    require(library, calls.laneCreate(runtime, 0, 1, scratch.address(0)));
    lane = scratch.getLong(0);
    require(library, calls.laneMemory(lane, scratch.address(0), scratch.address(1)));
    block = NativeMemory.wrap(scratch.getLong(0), scratch.getLong(1)).buffer();
  }

  static void require(NativeLibrary library, int code) {
    assertThat(Codes.isError(code)).as(library.lastError()).isFalse();
  }

  /** Opens a port at this lane and asks for {@code demand} messages; returns its index. */
  int open(int port, String name, int messages, long demand) {
    ByteBuffer text = NativeMemory.cString(name);
    int code =
        calls.laneOpenPort(
            lane,
            port,
            NativeMemory.address(text),
            messages,
            1 << 20,
            scratch.address(0),
            scratch.address(1),
            scratch.address(2));
    assertThat(text.capacity()).isPositive(); // Reachable until here.
    assertThat(code).isEqualTo(Codes.DONE);
    int index = scratch.getInt(0);
    block.putLong(demand(index) + Layout.DEMAND_REQUESTED, demand);
    return index;
  }

  private int demand(int index) {
    return layout.demandOffset() + index * Layout.DEMAND_SIZE;
  }

  /** Appends an active message to this rank whose payload fits the descriptor. */
  int submit(int port, long tag, byte[] payload) {
    assertThat(payload.length).isLessThanOrEqualTo(32);
    int entry = submitted++;
    int at = layout.submissionOffset() + entry * Layout.DESCRIPTOR_SIZE;
    block.put(at + Layout.DESCRIPTOR_OP, (byte) Codes.OP_AM);
    block.put(at + Layout.DESCRIPTOR_FLAGS, (byte) Codes.FLAG_INLINE);
    block.putInt(at + Layout.DESCRIPTOR_RANK, 0);
    block.putShort(at + Layout.DESCRIPTOR_PORT, (short) port);
    block.put(at + Layout.DESCRIPTOR_DEVICE, (byte) 0);
    block.put(at + Layout.DESCRIPTOR_POLICY, (byte) Codes.POLICY_RANK_TAG);
    block.putInt(at + Layout.DESCRIPTOR_SIZE_FIELD, payload.length);
    block.putLong(at + Layout.DESCRIPTOR_TAG, tag);
    block.putLong(at + Layout.DESCRIPTOR_CONTEXT, 0);
    block.put(at + Layout.DESCRIPTOR_PAYLOAD, payload);
    return entry;
  }

  /**
   * One enter; returns its code. Outcomes of what was submitted can be read until the next
   * submission.
   */
  int enter() {
    block.putInt(layout.controlOffset() + Layout.CONTROL_FLAGS, ALL);
    block.putInt(layout.controlOffset() + Layout.CONTROL_SUBMIT_COUNT, submitted);
    submitted = 0;
    return calls.laneEnter(lane);
  }

  int outcome(int entry) {
    int at = layout.submissionOffset() + entry * Layout.DESCRIPTOR_SIZE;
    return Short.toUnsignedInt(block.getShort(at + Layout.DESCRIPTOR_OUTCOME));
  }

  /** Reads and consumes all records. */
  List<Event> drain() {
    List<Event> events = new ArrayList<>();
    int head = block.getInt(layout.controlOffset() + Layout.CONTROL_CQ_HEAD);
    int tail = block.getInt(layout.controlOffset() + Layout.CONTROL_CQ_TAIL);
    while (head != tail) {
      int at =
          layout.completionOffset() + (head & (layout.completionCount() - 1)) * Layout.RECORD_SIZE;
      int kind = Byte.toUnsignedInt(block.get(at + Layout.RECORD_KIND));
      int size = block.getInt(at + Layout.RECORD_SIZE_FIELD);
      if (kind == Codes.RECORD_PAD) {
        head += size;
        continue;
      }
      byte[] payload = new byte[kind == Codes.RECORD_MESSAGE ? size : 0];
      boolean elsewhere = (block.get(at + Layout.RECORD_FLAGS) & Codes.RECORD_FLAG_ADDRESS) != 0;
      if (elsewhere) {
        NativeMemory.wrap(block.getLong(at + Layout.RECORD_PAYLOAD), size).buffer().get(0, payload);
      } else {
        block.get(at + Layout.RECORD_PAYLOAD, payload);
      }
      events.add(
          new Event(
              kind,
              Short.toUnsignedInt(block.getShort(at + Layout.RECORD_CODE)),
              Short.toUnsignedInt(block.getShort(at + Layout.RECORD_PORT)),
              Short.toUnsignedInt(block.getShort(at + Layout.RECORD_INDEX)),
              block.getLong(at + Layout.RECORD_TAG),
              block.getLong(at + Layout.RECORD_CONTEXT),
              payload));
      head += 1 + (elsewhere ? 0 : Math.max(0, payload.length - 32 + 63) / 64);
    }
    block.putInt(layout.controlOffset() + Layout.CONTROL_CQ_HEAD, head);
    return events;
  }

  @Override
  public void close() {
    assertThat(calls.laneFree(lane)).isEqualTo(Codes.DONE);
    assertThat(calls.runtimeClose(runtime, 1000)).isEqualTo(Codes.DONE);
    calls.inprocFree(job);
  }
}
