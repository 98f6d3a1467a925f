/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

/** {@link NativeCalls} by JNA direct mapping: over {@link JnaSymbols}, which must be registered. */
final class JnaCalls implements NativeCalls {

  @Override
  public long codeName(int code) {
    return JnaSymbols.lci_code_name(code);
  }

  @Override
  public long lastError() {
    return JnaSymbols.lci_last_error();
  }

  @Override
  public int lastErrorRank() {
    return JnaSymbols.lci_last_error_rank();
  }

  @Override
  public long version() {
    return JnaSymbols.lci_version();
  }

  @Override
  public int attrsCreate(long outAttrs) {
    return JnaSymbols.lci_attrs_create(outAttrs);
  }

  @Override
  public void attrsFree(long attrs) {
    JnaSymbols.lci_attrs_free(attrs);
  }

  @Override
  public int attrsSet(long attrs, long name, long value) {
    return JnaSymbols.lci_attrs_set(attrs, name, value);
  }

  @Override
  public int attrsOwn(long attrs, long name) {
    return JnaSymbols.lci_attrs_own(attrs, name);
  }

  @Override
  public long attrName(int index) {
    return JnaSymbols.lci_attr_name(index);
  }

  @Override
  public long attrDefault(int index) {
    return JnaSymbols.lci_attr_default(index);
  }

  @Override
  public long attrHelp(int index) {
    return JnaSymbols.lci_attr_help(index);
  }

  @Override
  public int inprocCreate(int size, long outJob) {
    return JnaSymbols.lci_inproc_create(size, outJob);
  }

  @Override
  public void inprocFree(long job) {
    JnaSymbols.lci_inproc_free(job);
  }

  @Override
  public int runtimeCreate(long attrs, long inprocJob, int inprocRank, long outRuntime) {
    return JnaSymbols.lci_runtime_create(attrs, inprocJob, inprocRank, outRuntime);
  }

  @Override
  public int runtimeClose(long runtime, int timeoutMillis) {
    return JnaSymbols.lci_runtime_close(runtime, timeoutMillis);
  }

  @Override
  public int runtimeRank(long runtime) {
    return JnaSymbols.lci_runtime_rank(runtime);
  }

  @Override
  public int runtimeSize(long runtime) {
    return JnaSymbols.lci_runtime_size(runtime);
  }

  @Override
  public int runtimeAttr(long runtime, long name, long out, long outSize) {
    return JnaSymbols.lci_runtime_attr(runtime, name, out, outSize);
  }

  @Override
  public int runtimePeer(long runtime, int rank, long outState) {
    return JnaSymbols.lci_runtime_peer(runtime, rank, outState);
  }

  @Override
  public int runtimeSnapshot(long runtime, long out, int count) {
    return JnaSymbols.lci_runtime_snapshot(runtime, out, count);
  }

  @Override
  public int runtimeSnapshotPart(long runtime, int device, long out, int count) {
    return JnaSymbols.lci_runtime_snapshot_part(runtime, device, out, count);
  }

  @Override
  public int runtimeLog(long runtime, long outLog) {
    return JnaSymbols.lci_runtime_log(runtime, outLog);
  }

  @Override
  public int logTake(long log, long outLevel, long out, long outSize) {
    return JnaSymbols.lci_log_take(log, outLevel, out, outSize);
  }

  @Override
  public void logFree(long log) {
    JnaSymbols.lci_log_free(log);
  }

  @Override
  public long counterName(int index) {
    return JnaSymbols.lci_counter_name(index);
  }

  @Override
  public long info(long out, long outSize) {
    return JnaSymbols.lci_info(out, outSize);
  }

  @Override
  public int runtimeArena(long runtime, long outBase, long outLength) {
    return JnaSymbols.lci_runtime_arena(runtime, outBase, outLength);
  }

  @Override
  public int runtimePeerArena(long runtime, int rank, long outBase, long outLength) {
    return JnaSymbols.lci_runtime_peer_arena(runtime, rank, outBase, outLength);
  }

  @Override
  public int runtimeMaxEager(long runtime) {
    return JnaSymbols.lci_runtime_max_eager(runtime);
  }

  @Override
  public int threadPin(int offset) {
    return JnaSymbols.lci_thread_pin(offset);
  }

  @Override
  public int runtimeDevice(long runtime, int index, long outDevice) {
    return JnaSymbols.lci_runtime_device(runtime, index, outDevice);
  }

  @Override
  public int progress(long device) {
    return JnaSymbols.lci_progress(device);
  }

  @Override
  public int queueCreate(long runtime, int capacity, long outComp) {
    return JnaSymbols.lci_queue_create(runtime, capacity, outComp);
  }

  @Override
  public int queueCreateKind(long runtime, int kind, int capacity, long outComp) {
    return JnaSymbols.lci_queue_create_kind(runtime, kind, capacity, outComp);
  }

  @Override
  public int queuePop(long queue, long outStatus) {
    return JnaSymbols.lci_queue_pop(queue, outStatus);
  }

  @Override
  public int queuePopMany(long queue, long outStatuses, int count) {
    return JnaSymbols.lci_queue_pop_many(queue, outStatuses, count);
  }

  @Override
  public long queueLength(long queue) {
    return JnaSymbols.lci_queue_length(queue);
  }

  @Override
  public int synchronizerCreate(long runtime, int threshold, long outComp) {
    return JnaSymbols.lci_synchronizer_create(runtime, threshold, outComp);
  }

  @Override
  public int synchronizerTest(long synchronizer, long outStatuses) {
    return JnaSymbols.lci_synchronizer_test(synchronizer, outStatuses);
  }

  @Override
  public int counterCreate(long runtime, long outComp) {
    return JnaSymbols.lci_counter_create(runtime, outComp);
  }

  @Override
  public long counterGet(long counter) {
    return JnaSymbols.lci_counter_get(counter);
  }

  @Override
  public void counterSet(long counter, long value) {
    JnaSymbols.lci_counter_set(counter, value);
  }

  @Override
  public int compSignal(long comp, long status) {
    return JnaSymbols.lci_comp_signal(comp, status);
  }

  @Override
  public int compReserve(long comp, long device) {
    return JnaSymbols.lci_comp_reserve(comp, device);
  }

  @Override
  public int compSignalReserved(long comp, long status) {
    return JnaSymbols.lci_comp_signal_reserved(comp, status);
  }

  @Override
  public int compUnreserve(long comp) {
    return JnaSymbols.lci_comp_unreserve(comp);
  }

  @Override
  public int compId(long comp) {
    return JnaSymbols.lci_comp_id(comp);
  }

  @Override
  public int compFree(long comp) {
    return JnaSymbols.lci_comp_free(comp);
  }

  @Override
  public void bufferFree(long buffer) {
    JnaSymbols.lci_buffer_free(buffer);
  }

  @Override
  public int portOpen(long runtime, int number, long name, long comp, int messages, long bytes) {
    return JnaSymbols.lci_port_open(runtime, number, name, comp, messages, bytes);
  }

  @Override
  public int portReplyRoom(long runtime, int port, int count, int bytes, long outId) {
    return JnaSymbols.lci_port_reply_room(runtime, port, count, bytes, outId);
  }

  @Override
  public int portName(long runtime, int number, long name) {
    return JnaSymbols.lci_port_name(runtime, number, name);
  }

  @Override
  public int portClose(long runtime, int number) {
    return JnaSymbols.lci_port_close(runtime, number);
  }

  @Override
  public int memoryAllocate(long runtime, long bytes, long outMemory, long outAddress) {
    return JnaSymbols.lci_memory_allocate(runtime, bytes, outMemory, outAddress);
  }

  @Override
  public int memoryFree(long memory) {
    return JnaSymbols.lci_memory_free(memory);
  }

  @Override
  public int memoryRegister(long runtime, long address, long bytes, long outMemory) {
    return JnaSymbols.lci_memory_register(runtime, address, bytes, outMemory);
  }

  @Override
  public int memoryDeregister(long memory) {
    return JnaSymbols.lci_memory_deregister(memory);
  }

  @Override
  public int memoryHandle(long memory, long out, long outSize) {
    return JnaSymbols.lci_memory_handle(memory, out, outSize);
  }

  @Override
  public int remoteOpen(
      long runtime, int rank, long handle, long length, long outId, long outSize) {
    return JnaSymbols.lci_remote_open(runtime, rank, handle, length, outId, outSize);
  }

  @Override
  public int remoteClose(long runtime, long id) {
    return JnaSymbols.lci_remote_close(runtime, id);
  }

  @Override
  public int engineCreate(long runtime, int number, int type, long makeKey, long argument) {
    return JnaSymbols.lci_engine_create(runtime, number, type, makeKey, argument);
  }

  @Override
  public int engineFree(long runtime, int number) {
    return JnaSymbols.lci_engine_free(runtime, number);
  }

  @Override
  public int post(long device, long operation, long comp, long outStatus) {
    return JnaSymbols.lci_post(device, operation, comp, outStatus);
  }

  @Override
  public int laneCreate(long runtime, int firstDevice, int deviceCount, long outLane) {
    return JnaSymbols.lci_lane_create(runtime, firstDevice, deviceCount, outLane);
  }

  @Override
  public int laneMemory(long lane, long outBase, long outLength) {
    return JnaSymbols.lci_lane_memory(lane, outBase, outLength);
  }

  @Override
  public int laneDoorbell(long lane, long outBase, long outLength) {
    return JnaSymbols.lci_lane_doorbell(lane, outBase, outLength);
  }

  @Override
  public long laneParkOffset(long lane) {
    return JnaSymbols.lci_lane_park_offset(lane);
  }

  @Override
  public long laneSummaryOffset(long lane, int deviceIndex) {
    return JnaSymbols.lci_lane_summary_offset(lane, deviceIndex);
  }

  @Override
  public int laneEnter(long lane) {
    return JnaSymbols.lci_lane_enter(lane);
  }

  @Override
  public int laneHelp(long lane) {
    return JnaSymbols.lci_lane_help(lane);
  }

  @Override
  public int lanePark(long lane, long timeoutNanos) {
    return JnaSymbols.lci_lane_park(lane, timeoutNanos);
  }

  @Override
  public void laneWake(long lane) {
    JnaSymbols.lci_lane_wake(lane);
  }

  @Override
  public int laneFree(long lane) {
    return JnaSymbols.lci_lane_free(lane);
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
    return JnaSymbols.lci_lane_open_port(
        lane, number, name, messages, bytes, outIndex, outBase, outLength);
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
    return JnaSymbols.lci_lane_open_part(
        lane, number, name, part, parts, messages, bytes, outIndex, outBase, outLength);
  }

  @Override
  public int laneZeroCopy(long lane, int index, int on) {
    return JnaSymbols.lci_lane_zero_copy(lane, index, on);
  }

  @Override
  public int laneClosePort(long lane, int index) {
    return JnaSymbols.lci_lane_close_port(lane, index);
  }

  @Override
  public int laneSynchronizerCreate(long lane, int threshold, long outComp) {
    return JnaSymbols.lci_lane_synchronizer_create(lane, threshold, outComp);
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
    return JnaSymbols.lci_lane_graph_create(
        lane, nodes, nodeCount, edges, edgeCount, ops, opCount, context, outId);
  }

  @Override
  public int laneGraphFree(long lane, int id) {
    return JnaSymbols.lci_lane_graph_free(lane, id);
  }

  @Override
  public int laneGraphCancel(long lane, int id) {
    return JnaSymbols.lci_lane_graph_cancel(lane, id);
  }

  @Override
  public int laneGraphStatuses(long lane, int id, int first, int count, long out) {
    return JnaSymbols.lci_lane_graph_statuses(lane, id, first, count, out);
  }

  @Override
  public int layout(long out, int count) {
    return JnaSymbols.lci_layout(out, count);
  }
}
