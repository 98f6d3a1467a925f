/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

/**
 * Where the shared structures have their fields. [V10]
 *
 * <p>The constants are what the Java code is compiled against; the library's own values are
 * compared with them once, at load, and a difference is refused with both values. The instance
 * holds what only the library knows: where the parts of a lane lie and how many entries they have.
 * All values are bytes, unless they are counts.
 */
public final class Layout {

  /** {@code LCI_ABI_VERSION} that this class was written for. */
  public static final int ABI_VERSION = 5;

  // lci_descriptor
  /** Size of one entry of the submission array. */
  public static final int DESCRIPTOR_SIZE = 64;

  public static final int DESCRIPTOR_OP = 0;
  public static final int DESCRIPTOR_FLAGS = 1;
  public static final int DESCRIPTOR_OUTCOME = 2;
  public static final int DESCRIPTOR_RANK = 4;
  public static final int DESCRIPTOR_PORT = 8;
  public static final int DESCRIPTOR_DEVICE = 10;
  public static final int DESCRIPTOR_POLICY = 11;
  public static final int DESCRIPTOR_SIZE_FIELD = 12;
  public static final int DESCRIPTOR_TAG = 16;
  public static final int DESCRIPTOR_CONTEXT = 24;

  /** Inline payload, or the address or handle that the payload flags name. */
  public static final int DESCRIPTOR_PAYLOAD = 32;

  /** Id of the remote region of a put or get, and the bytes from its start. */
  public static final int DESCRIPTOR_REMOTE = 40;

  public static final int DESCRIPTOR_DISPLACEMENT = 48;
  public static final int DESCRIPTOR_COUNT = 56;

  /** The number that an atomic operation adds or stores, and the value that it expects. */
  public static final int DESCRIPTOR_OPERAND = 32;

  public static final int DESCRIPTOR_EXPECTED = 56;

  /** Of a collective call: where its data lies, elements of a block, and a list of counts. */
  public static final int DESCRIPTOR_COLLECTIVE_IN = 32;

  public static final int DESCRIPTOR_COLLECTIVE_OUT = 40;
  public static final int DESCRIPTOR_COLLECTIVE_COUNT = 48;
  public static final int DESCRIPTOR_COLLECTIVE_COUNTS = 56;

  /** Inline payload of a put: in the entries that follow. */
  public static final int DESCRIPTOR_PUT_PAYLOAD = 64;

  // lci_record
  /** Size of one entry of the completion ring. */
  public static final int RECORD_SIZE = 64;

  public static final int RECORD_KIND = 0;
  public static final int RECORD_FLAGS = 1;
  public static final int RECORD_CODE = 2;
  public static final int RECORD_RANK = 4;
  public static final int RECORD_PORT = 8;
  public static final int RECORD_INDEX = 10;
  public static final int RECORD_SIZE_FIELD = 12;
  public static final int RECORD_TAG = 16;
  public static final int RECORD_CONTEXT = 24;

  /** Inline payload, or the address that {@link Codes#RECORD_FLAG_ADDRESS} announces. */
  public static final int RECORD_PAYLOAD = 32;

  /** Memory of a received message, which {@link Codes#RECORD_FLAG_RECEIVED} announces. */
  public static final int RECORD_RECEIVED = 40;

  // lci_lane_control, offsets from the control block
  public static final int CONTROL_FLAGS = 0;
  public static final int CONTROL_SUBMIT_COUNT = 4;
  public static final int CONTROL_CQ_HEAD = 8;
  public static final int CONTROL_ARRIVAL_BUDGET = 12;
  public static final int CONTROL_BYTE_BUDGET = 16;
  public static final int CONTROL_SPIN_NS = 24;
  public static final int CONTROL_CQ_TAIL = 64;
  public static final int CONTROL_MUST_ENTER = 68;
  public static final int CONTROL_IN_FLIGHT = 72;
  public static final int CONTROL_MOVED = 76;
  public static final int CONTROL_NEXT_DEADLINE = 80;
  public static final int CONTROL_LATE_WAKES = 88;

  /** First of {@link #CONTROL_GENERATION_COUNT} 32-bit words. */
  public static final int CONTROL_GENERATION = 128;

  public static final int CONTROL_GENERATION_COUNT = 128;
  public static final int CONTROL_PACKET_COUNT = 640;

  /** First of {@link #CONTROL_PACKETS_COUNT} 32-bit handles. */
  public static final int CONTROL_PACKETS = 644;

  public static final int CONTROL_PACKETS_COUNT = 31;

  // lci_demand
  /** Size of one entry of the demand table. */
  public static final int DEMAND_SIZE = 32;

  public static final int DEMAND_REQUESTED = 0;
  public static final int DEMAND_DELIVERED = 8;
  public static final int DEMAND_PORT = 16;
  public static final int DEMAND_DEPTH = 20;
  public static final int DEMAND_LEFT_BEHIND = 24;

  // lci_status
  /** Size of one status, as queues and synchronizers write it. */
  public static final int STATUS_SIZE = 48;

  public static final int STATUS_CODE = 0;
  public static final int STATUS_RANK = 4;
  public static final int STATUS_TAG = 8;
  public static final int STATUS_BUFFER = 16;
  public static final int STATUS_SIZE_FIELD = 24;
  public static final int STATUS_CONTEXT = 32;
  public static final int STATUS_PORT = 40;
  public static final int STATUS_PACKET = 44;

  // lci_failure: why a context of a group failed
  public static final int FAILURE_SIZE = 96;

  public static final int FAILURE_SEQUENCE = 0;
  public static final int FAILURE_CODE = 8;
  public static final int FAILURE_RANK = 12;
  public static final int FAILURE_CAUSE = 16;

  /** Two ranks, then, from {@link #FAILURE_CALLS} on, what each of them called. */
  public static final int FAILURE_RANKS = 20;

  public static final int FAILURE_CALLS = 32;

  // lci_call
  public static final int CALL_SIZE = 32;

  public static final int CALL_KIND = 0;
  public static final int CALL_OP = 1;
  public static final int CALL_TYPE = 2;
  public static final int CALL_ALGORITHM = 3;
  public static final int CALL_ROOT = 4;
  public static final int CALL_SEGMENT_BYTES = 8;
  public static final int CALL_COUNT = 16;
  public static final int CALL_HASH = 24;

  // lci_collective: a call of a group, where it is no descriptor
  public static final int COLLECTIVE_SIZE = 56;

  public static final int COLLECTIVE_KIND = 0;
  public static final int COLLECTIVE_ALGORITHM = 4;
  public static final int COLLECTIVE_TYPE = 8;
  public static final int COLLECTIVE_OP = 12;
  public static final int COLLECTIVE_ROOT = 16;
  public static final int COLLECTIVE_IN = 24;
  public static final int COLLECTIVE_OUT = 32;
  public static final int COLLECTIVE_COUNT = 40;
  public static final int COLLECTIVE_COUNTS = 48;

  // lci_buffer: a part of a list
  public static final int BUFFER_SIZE = 16;

  public static final int BUFFER_ADDRESS = 0;
  public static final int BUFFER_SIZE_FIELD = 8;

  // lci_place: where such a part lies in remote memory
  public static final int PLACE_SIZE = 16;

  public static final int PLACE_REMOTE = 0;
  public static final int PLACE_DISPLACEMENT = 8;

  // lci_graph_node and lci_graph_edge
  public static final int GRAPH_NODE_SIZE = 8;

  public static final int GRAPH_NODE_KIND = 0;
  public static final int GRAPH_NODE_OP = 4;
  public static final int GRAPH_EDGE_SIZE = 8;
  public static final int GRAPH_EDGE_FROM = 0;
  public static final int GRAPH_EDGE_TO = 4;

  /** Messages up to this size travel inside descriptors and records. */
  public static final int INLINE_MAX = 192;

  /** A packet lies at its handle times this in the arena. */
  public static final int PACKET_UNIT = 64;

  private final int controlOffset;
  private final int demandOffset;
  private final int demandCount;
  private final int submissionOffset;
  private final int submissionCount;
  private final int completionOffset;
  private final int completionCount;
  private final int packetPayload;

  private Layout(long[] values) {
    controlOffset = position(values, LayoutId.CONTROL_OFFSET);
    demandOffset = position(values, LayoutId.DEMAND_OFFSET);
    demandCount = position(values, LayoutId.DEMAND_COUNT);
    submissionOffset = position(values, LayoutId.SUBMISSION_OFFSET);
    submissionCount = position(values, LayoutId.SUBMISSION_COUNT);
    completionOffset = position(values, LayoutId.COMPLETION_OFFSET);
    completionCount = position(values, LayoutId.COMPLETION_COUNT);
    packetPayload = position(values, LayoutId.PACKET_PAYLOAD);
    if (Integer.bitCount(completionCount) != 1) {
      throw new LayoutMismatchException(
          "COMPLETION_COUNT: the library has "
              + completionCount
              + ", this bridge needs a power of two");
    }
  }

  /**
   * Compares the library's values with the constants.
   *
   * @param values what {@code lci_layout} wrote, indexed by {@link LayoutId}
   * @param count what {@code lci_layout} returned
   * @throws LayoutMismatchException naming every field that differs, with both values
   */
  static Layout check(long[] values, int count) {
    StringBuilder differences = new StringBuilder();
    compare(differences, LayoutId.ABI, values[LayoutId.ABI.index()]);
    if (differences.isEmpty() && count != LayoutId.values().length) {
      differences.append("COUNT: the library has ").append(count);
      differences.append(", this bridge expects ").append(LayoutId.values().length);
    }
    if (differences.isEmpty()) {
      for (LayoutId id : LayoutId.values()) {
        compare(differences, id, values[id.index()]);
      }
    }
    if (!differences.isEmpty()) {
      throw new LayoutMismatchException(differences.toString());
    }
    return new Layout(values);
  }

  private static void compare(StringBuilder differences, LayoutId id, long found) {
    if (id.expected() == LayoutId.CHOSEN_BY_LIBRARY || id.expected() == found) {
      return;
    }
    if (!differences.isEmpty()) {
      differences.append("; ");
    }
    differences.append(id).append(": the library has ").append(found);
    differences.append(", this bridge expects ").append(id.expected());
  }

  private static int position(long[] values, LayoutId id) {
    long value = values[id.index()];
    if (value < 0 || value > Integer.MAX_VALUE) {
      throw new LayoutMismatchException(
          id + ": the library has " + value + ", this bridge expects 0 to " + Integer.MAX_VALUE);
    }
    return (int) value;
  }

  /** Offset of the control block in a lane. */
  public int controlOffset() {
    return controlOffset;
  }

  /** Offset of the demand table in a lane. */
  public int demandOffset() {
    return demandOffset;
  }

  /** Entries of the demand table. */
  public int demandCount() {
    return demandCount;
  }

  /** Offset of the submission array in a lane. */
  public int submissionOffset() {
    return submissionOffset;
  }

  /**
   * Entries of the submission array, without the slack for one inline payload that follows them.
   */
  public int submissionCount() {
    return submissionCount;
  }

  /** Offset of the completion ring in a lane. */
  public int completionOffset() {
    return completionOffset;
  }

  /** Entries of the completion ring, a power of two. */
  public int completionCount() {
    return completionCount;
  }

  /** Offset of the payload in a packet. */
  public int packetPayload() {
    return packetPayload;
  }
}
