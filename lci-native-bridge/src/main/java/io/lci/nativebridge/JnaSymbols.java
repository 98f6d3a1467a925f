/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

/**
 * The C functions under their own names, bound by direct mapping. Primitives only: everything else
 * costs several times as much per call.
 */
final class JnaSymbols {

  private JnaSymbols() {}

  static native long lci_code_name(int code);

  static native long lci_last_error();

  static native int lci_last_error_rank();

  static native long lci_version();

  static native int lci_attrs_create(long outAttrs);

  static native void lci_attrs_free(long attrs);

  static native int lci_attrs_set(long attrs, long name, long value);

  static native int lci_attrs_own(long attrs, long name);

  static native long lci_attr_name(int index);

  static native long lci_attr_default(int index);

  static native long lci_attr_help(int index);

  static native int lci_inproc_create(int size, long outJob);

  static native void lci_inproc_free(long job);

  static native int lci_runtime_create(long attrs, long inprocJob, int inprocRank, long outRuntime);

  static native int lci_runtime_close(long runtime, int timeoutMillis);

  static native int lci_runtime_rank(long runtime);

  static native int lci_runtime_size(long runtime);

  static native int lci_runtime_attr(long runtime, long name, long out, long outSize);

  static native int lci_runtime_peer(long runtime, int rank, long outState);

  static native int lci_runtime_snapshot(long runtime, long out, int count);

  static native int lci_runtime_snapshot_part(long runtime, int device, long out, int count);

  static native int lci_runtime_log(long runtime, long out);

  static native int lci_log_take(long log, long outLevel, long out, long outSize);

  static native void lci_log_free(long log);

  static native long lci_counter_name(int index);

  static native long lci_info(long out, long outSize);

  static native int lci_runtime_arena(long runtime, long outBase, long outLength);

  static native int lci_runtime_peer_arena(long runtime, int rank, long outBase, long outLength);

  static native int lci_runtime_max_eager(long runtime);

  static native int lci_thread_pin(int offset);

  static native int lci_runtime_device(long runtime, int index, long outDevice);

  static native int lci_progress(long device);

  static native int lci_queue_create(long runtime, int capacity, long outComp);

  static native int lci_queue_create_kind(long runtime, int kind, int capacity, long outComp);

  static native int lci_queue_pop(long queue, long outStatus);

  static native int lci_queue_pop_many(long queue, long outStatuses, int count);

  static native long lci_queue_length(long queue);

  static native int lci_synchronizer_create(long runtime, int threshold, long outComp);

  static native int lci_synchronizer_test(long synchronizer, long outStatuses);

  static native int lci_counter_create(long runtime, long outComp);

  static native long lci_counter_get(long counter);

  static native void lci_counter_set(long counter, long value);

  static native int lci_comp_signal(long comp, long status);

  static native int lci_comp_reserve(long comp, long device);

  static native int lci_comp_signal_reserved(long comp, long status);

  static native int lci_comp_unreserve(long comp);

  static native int lci_comp_id(long comp);

  static native int lci_comp_free(long comp);

  static native void lci_buffer_free(long buffer);

  static native int lci_port_open(
      long runtime, int number, long name, long comp, int messages, long bytes);

  static native int lci_port_reply_room(long runtime, int port, int count, int bytes, long outId);

  static native int lci_port_name(long runtime, int number, long name);

  static native int lci_port_close(long runtime, int number);

  static native int lci_memory_allocate(long runtime, long bytes, long outMemory, long outAddress);

  static native int lci_memory_free(long memory);

  static native int lci_memory_register(long runtime, long address, long bytes, long outMemory);

  static native int lci_memory_deregister(long memory);

  static native int lci_memory_handle(long memory, long out, long outSize);

  static native int lci_remote_open(
      long runtime, int rank, long handle, long length, long outId, long outSize);

  static native int lci_remote_close(long runtime, long id);

  static native int lci_engine_create(
      long runtime, int number, int type, long makeKey, long argument);

  static native int lci_engine_free(long runtime, int number);

  static native int lci_post(long device, long operation, long comp, long outStatus);

  static native int lci_lane_create(long runtime, int firstDevice, int deviceCount, long outLane);

  static native int lci_lane_memory(long lane, long outBase, long outLength);

  static native int lci_lane_doorbell(long lane, long outBase, long outLength);

  static native long lci_lane_park_offset(long lane);

  static native long lci_lane_summary_offset(long lane, int deviceIndex);

  static native int lci_lane_enter(long lane);

  static native int lci_lane_help(long lane);

  static native int lci_lane_park(long lane, long timeoutNanos);

  static native void lci_lane_wake(long lane);

  static native int lci_lane_free(long lane);

  static native int lci_lane_open_port(
      long lane,
      int number,
      long name,
      int messages,
      long bytes,
      long outIndex,
      long outBase,
      long outLength);

  static native int lci_lane_open_part(
      long lane,
      int number,
      long name,
      int part,
      int parts,
      int messages,
      long bytes,
      long outIndex,
      long outBase,
      long outLength);

  static native int lci_lane_zero_copy(long lane, int index, int on);

  static native int lci_lane_close_port(long lane, int index);

  static native int lci_lane_synchronizer_create(long lane, int threshold, long outComp);

  static native int lci_lane_graph_create(
      long lane,
      long nodes,
      int nodeCount,
      long edges,
      int edgeCount,
      long ops,
      int opCount,
      long context,
      long outId);

  static native int lci_lane_graph_free(long lane, int id);

  static native int lci_lane_graph_cancel(long lane, int id);

  static native int lci_lane_graph_statuses(long lane, int id, int first, int count, long out);

  static native int lci_layout(long out, int count);
}
