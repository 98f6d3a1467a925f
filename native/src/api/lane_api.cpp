// SPDX-License-Identifier: Apache-2.0
#include <cstddef>

#include "api/guard.hpp"
#include "api/handles.hpp"

using namespace lci;

extern "C" {

int lci_lane_create(lci_runtime* runtime, uint32_t first_device, uint32_t device_count, lci_lane** out) {
  LCI_NOT_NULL(runtime, "create lane");
  LCI_NOT_NULL(out, "create lane");
  LCI_NOT_IN_HANDLER("create lane");
  return guarded("create lane", [&] {
    auto handle = std::make_unique<lci_lane>();
    handle->first_device = first_device;
    const int code = Lane::create(runtime->runtime->lane_parts(), first_device, device_count, &handle->lane);
    if (code == LCI_DONE) *out = handle.release();
    return code;
  });
}

int lci_lane_memory(const lci_lane* lane, uint64_t* out_base, uint64_t* out_length) {
  LCI_NOT_NULL(lane, "lane memory");
  LCI_NOT_NULL(out_base, "lane memory");
  LCI_NOT_NULL(out_length, "lane memory");
  *out_base = lane->lane->base();
  *out_length = lane->lane->length();
  return LCI_DONE;
}

int lci_lane_doorbell(const lci_lane* lane, uint64_t* out_base, uint64_t* out_length) {
  LCI_NOT_NULL(lane, "lane doorbell");
  LCI_NOT_NULL(out_base, "lane doorbell");
  LCI_NOT_NULL(out_length, "lane doorbell");
  const OwnMemory& memory = lane->lane->runtime().memory();
  *out_base = reinterpret_cast<uint64_t>(memory.base());
  *out_length = memory.doorbell_length();
  return LCI_DONE;
}

uint64_t lci_lane_park_offset(const lci_lane* lane) {
  if (!lane) return 0;
  return lane->lane->runtime().memory().park_offset(lane->lane->park_slot());
}

uint64_t lci_lane_summary_offset(const lci_lane* lane, uint32_t device_index) {
  if (!lane || device_index >= lane->lane->device_count()) return 0;
  return lane->lane->runtime().memory().summary_offset(lane->lane->device(device_index).index());
}

int lci_lane_enter(lci_lane* lane) {
  LCI_NOT_NULL(lane, "enter");
  return guarded("enter", [&] { return lane->lane->enter(); });
}

int lci_lane_help(lci_lane* lane) {
  LCI_NOT_NULL(lane, "help");
  LCI_NOT_IN_HANDLER("help");
  return guarded("help", [&] { return lane->lane->help(); });
}

int lci_lane_park(lci_lane* lane, uint64_t timeout_ns) {
  LCI_NOT_NULL(lane, "park");
  LCI_NOT_IN_HANDLER("park");
  return guarded("park", [&] { return lane->lane->park(timeout_ns); });
}

void lci_lane_wake(lci_lane* lane) {
  if (lane) lane->lane->wake();
}

int lci_lane_free(lci_lane* lane) {
  LCI_NOT_NULL(lane, "free lane");
  LCI_NOT_IN_HANDLER("free lane");
  return guarded("free lane", [&] {
    Runtime& runtime = lane->lane->runtime();
    runtime.retire_lane(std::move(lane->lane));
    delete lane;
    return static_cast<int>(LCI_DONE);
  });
}

int lci_lane_open_port(lci_lane* lane, uint32_t number, const char* name, uint32_t messages, uint64_t bytes,
                       uint32_t* out_index, uint64_t* out_base, uint64_t* out_length) {
  return lci_lane_open_part(lane, number, name, 0, 1, messages, bytes, out_index, out_base, out_length);
}

int lci_lane_open_part(lci_lane* lane, uint32_t number, const char* name, uint32_t part, uint32_t parts,
                       uint32_t messages, uint64_t bytes, uint32_t* out_index, uint64_t* out_base,
                       uint64_t* out_length) {
  LCI_NOT_NULL(lane, "open port");
  LCI_NOT_NULL(out_index, "open port");
  LCI_NOT_NULL(out_base, "open port");
  LCI_NOT_NULL(out_length, "open port");
  return guarded("open port", [&] {
    const int code = lane->lane->open_port(number, name, {part, parts}, messages, bytes, out_index);
    if (code == LCI_DONE) {
      const PayloadRing& ring = lane->lane->inbox(*out_index)->ring();
      *out_base = reinterpret_cast<uint64_t>(ring.base());
      *out_length = ring.length();
    }
    return code;
  });
}

int lci_lane_zero_copy(lci_lane* lane, uint32_t index, int on) {
  LCI_NOT_NULL(lane, "zero copy");
  return guarded("zero copy", [&] { return lane->lane->set_zero_copy(index, on != 0); });
}

int lci_lane_close_port(lci_lane* lane, uint32_t index) {
  LCI_NOT_NULL(lane, "close port");
  return guarded("close port", [&] { return lane->lane->close_port(index); });
}

int lci_lane_synchronizer_create(lci_lane* lane, uint32_t threshold, lci_comp** out) {
  LCI_NOT_NULL(lane, "create synchronizer");
  LCI_NOT_NULL(out, "create synchronizer");
  return guarded("create synchronizer", [&]() -> int {
    if (threshold == 0 || threshold > 65535) {
      return fail(LCI_ERR_ARGUMENT, "create synchronizer: threshold %u is outside 1..65535", threshold);
    }
    auto completion = std::make_unique<LaneSynchronizer>(*lane->lane, threshold);
    Completion* added = completion.get();
    if (lane->lane->runtime().completions().add(std::move(completion)) == 0) {
      return fail(LCI_ERR_EXHAUSTED, "create synchronizer: the runtime has no identifier left");
    }
    *out = to_handle(added);
    return LCI_DONE;
  });
}

uint32_t lci_layout(uint64_t* out, uint32_t count) {
  const uint64_t values[LCI_LAYOUT_COUNT] = {
      LCI_ABI_VERSION,
      sizeof(lci_descriptor),
      offsetof(lci_descriptor, outcome),
      offsetof(lci_descriptor, rank),
      offsetof(lci_descriptor, port),
      offsetof(lci_descriptor, device),
      offsetof(lci_descriptor, policy),
      offsetof(lci_descriptor, size),
      offsetof(lci_descriptor, tag),
      offsetof(lci_descriptor, user_context),
      offsetof(lci_descriptor, u),
      sizeof(lci_record),
      offsetof(lci_record, code),
      offsetof(lci_record, rank),
      offsetof(lci_record, port),
      offsetof(lci_record, index),
      offsetof(lci_record, size),
      offsetof(lci_record, tag),
      offsetof(lci_record, context),
      offsetof(lci_record, u),
      LaneLayout::kControl,
      offsetof(lci_lane_control, spin_ns),
      offsetof(lci_lane_control, cq_tail),
      offsetof(lci_lane_control, generation),
      offsetof(lci_lane_control, packet_count),
      LaneLayout::kDemand,
      sizeof(lci_demand),
      kLaneInboxes,
      LaneLayout::kSubmission,
      kLaneSubmissions,
      LaneLayout::kCompletion,
      Attributes().lane_completions,
      LCI_INLINE_MAX,
      kPacketUnit,
      kPacketPayloadOffset,
  };
  for (uint32_t i = 0; out && i < count && i < LCI_LAYOUT_COUNT; ++i) out[i] = values[i];
  return LCI_LAYOUT_COUNT;
}

}  // extern "C"
