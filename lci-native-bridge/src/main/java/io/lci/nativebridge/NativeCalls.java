/* SPDX-License-Identifier: Apache-2.0 */
package io.lci.nativebridge;

/**
 * The functions of {@code lci.h} that Java needs, one method each, in the header's order; the
 * header documents what they do and own.
 *
 * <p>Only primitives cross: handles, pointers and strings are addresses in a {@code long} (0 is
 * null), and 32-bit unsigned values are {@code int}. Where the C function is named in the Javadoc
 * only, it returns a code of {@link Codes} unless said otherwise. Out-parameters are addresses of
 * {@link NativeScratch} or other native memory that must stay reachable during the call.
 *
 * <p>The build makes both implementations from this file ({@code src/build/GenerateCalls.java});
 * the name in C is that of the method in small letters, with {@code lci_} and underscores ({@link
 * Symbols}).
 *
 * <p>Implementations keep no state and are safe for any thread; the C function's own rules decide
 * which thread may call it. The text of {@link #lastError()} belongs to the calling thread.
 */
public interface NativeCalls {

  // Codes

  /** {@code lci_code_name}: address of a C string, never null. */
  long codeName(int code);

  /** {@code lci_last_error}: address of a C string, empty if the calling thread had no error. */
  long lastError();

  /** {@code lci_last_error_rank}: the rank, or -1. */
  int lastErrorRank();

  /** {@code lci_version}: address of a C string. */
  long version();

  // Attributes

  /** {@code lci_attrs_create}. */
  int attrsCreate(long outAttrs);

  /** {@code lci_attrs_free}. */
  void attrsFree(long attrs);

  /** {@code lci_attrs_set}. */
  int attrsSet(long attrs, long name, long value);

  /** {@code lci_attrs_own}. */
  int attrsOwn(long attrs, long name);

  /** {@code lci_attr_name}: address of a C string, 0 past the end. */
  long attrName(int index);

  /** {@code lci_attr_default}: address of a C string. */
  long attrDefault(int index);

  /** {@code lci_attr_help}: address of a C string. */
  long attrHelp(int index);

  // Runtime

  /** {@code lci_inproc_create}. */
  int inprocCreate(int size, long outJob);

  /** {@code lci_inproc_free}. */
  void inprocFree(long job);

  /**
   * {@code lci_runtime_create}. Blocks until every rank has arrived or the bootstrap's time is
   * over.
   */
  int runtimeCreate(long attrs, long inprocJob, int inprocRank, long outRuntime);

  /** {@code lci_runtime_close}. Blocks for at most about the time given. */
  int runtimeClose(long runtime, int timeoutMillis);

  /** {@code lci_runtime_rank}: the rank. */
  int runtimeRank(long runtime);

  /** {@code lci_runtime_size}: the number of ranks. */
  int runtimeSize(long runtime);

  /** {@code lci_runtime_attr}: writes a C string. */
  int runtimeAttr(long runtime, long name, long out, long outSize);

  /** {@code lci_runtime_peer}: writes a 32-bit {@code PEER_*} of {@link Codes}. */
  int runtimePeer(long runtime, int rank, long outState);

  /**
   * {@code lci_runtime_snapshot}: the number of counters; at most {@code count} 64-bit values are
   * written.
   */
  int runtimeSnapshot(long runtime, long out, int count);

  /**
   * {@code lci_runtime_snapshot_part}: as {@link #runtimeSnapshot}, of one device or of {@link
   * Codes#NO_DEVICE}.
   */
  int runtimeSnapshotPart(long runtime, int device, long out, int count);

  /** {@code lci_runtime_log}: writes a handle. */
  int runtimeLog(long runtime, long outLog);

  /** {@code lci_log_take}: writes a 32-bit {@code LOG_*} of {@link Codes} and a C string. */
  int logTake(long log, long outLevel, long out, long outSize);

  /** {@code lci_log_free}. */
  void logFree(long log);

  /** {@code lci_counter_name}: address of a C string, 0 past the end. */
  long counterName(int index);

  /** {@code lci_info}: bytes needed, terminator included. */
  long info(long out, long outSize);

  /** {@code lci_runtime_arena}: writes two 64-bit values. */
  int runtimeArena(long runtime, long outBase, long outLength);

  /** {@code lci_runtime_peer_arena}: writes two 64-bit values. */
  int runtimePeerArena(long runtime, int rank, long outBase, long outLength);

  /** {@code lci_runtime_max_eager}: bytes. */
  int runtimeMaxEager(long runtime);

  // Threads

  /** {@code lci_thread_pin}: binds the calling thread. */
  int threadPin(int offset);

  // Devices

  /** {@code lci_runtime_device}. */
  int runtimeDevice(long runtime, int index, long outDevice);

  /** {@code lci_device_add}: writes a handle. */
  int deviceAdd(long runtime, long outDevice);

  /** {@code lci_progress}. */
  int progress(long device);

  // Completion objects

  /** {@code lci_queue_create}. */
  int queueCreate(long runtime, int capacity, long outComp);

  /** {@code lci_queue_create_kind}. */
  int queueCreateKind(long runtime, int kind, int capacity, long outComp);

  /** {@code lci_queue_pop}: writes an {@code lci_status}. */
  int queuePop(long queue, long outStatus);

  /** {@code lci_queue_pop_many}: how many statuses were written. */
  int queuePopMany(long queue, long outStatuses, int count);

  /** {@code lci_queue_length}: entries. */
  long queueLength(long queue);

  /** {@code lci_synchronizer_create}. */
  int synchronizerCreate(long runtime, int threshold, long outComp);

  /** {@code lci_synchronizer_test}: writes {@code threshold} statuses; the address may be 0. */
  int synchronizerTest(long synchronizer, long outStatuses);

  /** {@code lci_counter_create}. */
  int counterCreate(long runtime, long outComp);

  /** {@code lci_counter_get}: the value. */
  long counterGet(long counter);

  /** {@code lci_counter_set}. */
  void counterSet(long counter, long value);

  /** {@code lci_comp_signal}: reads an {@code lci_status}. */
  int compSignal(long comp, long status);

  /** {@code lci_comp_reserve}; no device is 0. */
  int compReserve(long comp, long device);

  /** {@code lci_comp_signal_reserved}: reads an {@code lci_status}. */
  int compSignalReserved(long comp, long status);

  /** {@code lci_comp_unreserve}. */
  int compUnreserve(long comp);

  /** {@code lci_comp_id}: the identifier in descriptors and records. */
  int compId(long comp);

  /** {@code lci_comp_free}. */
  int compFree(long comp);

  /** {@code lci_buffer_free}; 0 is allowed. */
  void bufferFree(long buffer);

  // Groups

  /** {@code lci_group_create}: {@code ranks} are 32-bit; writes a handle. */
  int groupCreate(long runtime, long ranks, int count, long key, long outGroup);

  /** {@code lci_group_free}. */
  int groupFree(long group);

  /** {@code lci_context_create}: writes a handle. */
  int contextCreate(long group, long key, int device, long outContext);

  /** {@code lci_context_free}. */
  int contextFree(long context);

  /** {@code lci_context_forget}. */
  int contextForget(long context);

  /** {@code lci_context_id}: writes a 64-bit value. */
  int contextId(long context, long outId);

  /** {@code lci_context_failure}: writes an {@code lci_failure}. */
  int contextFailure(long context, long outFailure);

  /** {@code lci_context_revoke}. */
  int contextRevoke(long context, int cause);

  /** {@code lci_collective_chosen}: reads an {@code lci_collective}, writes a 32-bit value. */
  int collectiveChosen(long context, long call, long outAlgorithm);

  // Ports

  /** {@code lci_port_open}. */
  int portOpen(long runtime, int number, long name, long comp, int messages, long bytes);

  /** {@code lci_port_reply_room}: writes one byte. */
  int portReplyRoom(long runtime, int port, int count, int bytes, long outId);

  /** {@code lci_port_name}. */
  int portName(long runtime, int number, long name);

  /** {@code lci_port_close}. */
  int portClose(long runtime, int number);

  // Remote memory

  /** {@code lci_memory_allocate}: writes two 64-bit values. */
  int memoryAllocate(long runtime, long bytes, long outMemory, long outAddress);

  /** {@code lci_memory_free}. */
  int memoryFree(long memory);

  /** {@code lci_memory_register}. */
  int memoryRegister(long runtime, long address, long bytes, long outMemory);

  /** {@code lci_memory_deregister}. */
  int memoryDeregister(long memory);

  /** {@code lci_memory_handle}: writes {@code MEMORY_HANDLE_SIZE} bytes. */
  int memoryHandle(long memory, long out, long outSize);

  /** {@code lci_remote_open}: writes two 64-bit values. */
  int remoteOpen(long runtime, int rank, long handle, long length, long outId, long outSize);

  /** {@code lci_remote_close}. */
  int remoteClose(long runtime, long id);

  // Matching engines

  /** {@code lci_engine_create}: {@code makeKey} is a native function, or 0. */
  int engineCreate(long runtime, int number, int type, long makeKey, long argument);

  /** {@code lci_engine_free}. */
  int engineFree(long runtime, int number);

  // Posting through a device that no lane owns

  /**
   * {@code lci_post}: {@code operation} is an {@code lci_descriptor}; {@code comp} and {@code
   * outStatus} may be 0.
   */
  int post(long device, long operation, long comp, long outStatus);

  // Lane

  /** {@code lci_lane_create}. */
  int laneCreate(long runtime, int firstDevice, int deviceCount, long outLane);

  /** {@code lci_lane_memory}: writes two 64-bit values. */
  int laneMemory(long lane, long outBase, long outLength);

  /** {@code lci_lane_doorbell}: writes two 64-bit values. */
  int laneDoorbell(long lane, long outBase, long outLength);

  /** {@code lci_lane_park_offset}: offset in the doorbell area. */
  long laneParkOffset(long lane);

  /** {@code lci_lane_summary_offset}: offset in the doorbell area. */
  long laneSummaryOffset(long lane, int deviceIndex);

  /** {@code lci_lane_enter}: the one call of the hot path. */
  int laneEnter(long lane);

  /** {@code lci_lane_help}: any thread; {@link Codes#DONE} if anything moved. */
  int laneHelp(long lane);

  /** {@code lci_lane_park}. Blocks for at most 50 ms. */
  int lanePark(long lane, long timeoutNanos);

  /** {@code lci_lane_wake}. */
  void laneWake(long lane);

  /** {@code lci_lane_free}. */
  int laneFree(long lane);

  /** {@code lci_lane_open_port}: writes one 32-bit and two 64-bit values. */
  int laneOpenPort(
      long lane,
      int number,
      long name,
      int messages,
      long bytes,
      long outIndex,
      long outBase,
      long outLength);

  /** {@code lci_lane_open_part}: writes one 32-bit and two 64-bit values. */
  int laneOpenPart(
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

  /** {@code lci_lane_zero_copy}. */
  int laneZeroCopy(long lane, int index, int on);

  /** {@code lci_lane_close_port}. */
  int laneClosePort(long lane, int index);

  /** {@code lci_lane_fence}: writes one 64-bit value. */
  int laneFence(long lane, int deviceIndex, long outFence);

  /** {@code lci_lane_fence_passed}: {@link Codes#DONE} or {@link Codes#RETRY}. */
  int laneFencePassed(long lane, int deviceIndex, long fence);

  /** {@code lci_lane_sent}: writes one 32-bit value, or answers {@link Codes#RETRY}. */
  int laneSent(long lane, int deviceIndex, int rank, long outPosition);

  /**
   * {@code lci_lane_delivered}: {@link Codes#DONE}, {@link Codes#RETRY}, or that the rank is gone.
   */
  int laneDelivered(long lane, int deviceIndex, int rank, int position);

  /** {@code lci_lane_synchronizer_create}. */
  int laneSynchronizerCreate(long lane, int threshold, long outComp);

  // Graphs of a lane

  /** {@code lci_lane_graph_create}: writes one 32-bit value. */
  int laneGraphCreate(
      long lane,
      long nodes,
      int nodeCount,
      long edges,
      int edgeCount,
      long ops,
      int opCount,
      long context,
      long outId);

  /** {@code lci_lane_graph_free}. */
  int laneGraphFree(long lane, int id);

  /** {@code lci_lane_graph_cancel}. */
  int laneGraphCancel(long lane, int id);

  /** {@code lci_lane_graph_statuses}: writes {@code count} {@code lci_status}. */
  int laneGraphStatuses(long lane, int id, int first, int count, long out);

  // Layout

  /** {@code lci_layout}: the number of values; at most {@code count} 64-bit values are written. */
  int layout(long out, int count);
}
