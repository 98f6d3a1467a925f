// SPDX-License-Identifier: Apache-2.0
// The two rings that a device cuts from its rank's memory for one receiver: control and data. A link that plays a peer
// may go over to a larger ring of data.
#pragma once

#include <atomic>
#include <cstdint>

#include "transport/memory/ring.hpp"

namespace lci {

struct RingPair {
  alignas(64) std::atomic<uint32_t> data_head;
  alignas(64) std::atomic<uint32_t> control_head;
  // control slots, then data slots, follow
  Slot* slots() { return reinterpret_cast<Slot*>(this + 1); }
  RingMemory control(uint32_t control_slots) { return {&control_head, slots(), control_slots}; }
  RingMemory data(uint32_t control_slots, uint32_t data_slots) {
    return {&data_head, slots() + control_slots, data_slots};
  }
  /// Whether anything was ever written; by whoever has written it.
  bool was_used(uint32_t control_slots) {
    const auto is_written = [](const Slot& slot) { return slot.word.load(std::memory_order_relaxed) != 0; };
    return is_written(slots()[0]) || is_written(slots()[control_slots]);
  }
  static uint64_t bytes(uint32_t control_slots, uint32_t data_slots) {
    return sizeof(RingPair) + uint64_t{control_slots + data_slots} * kSlotBytes;
  }
};

/// A ring of data alone, in place of that of a pair.
struct DataRing {
  alignas(64) std::atomic<uint32_t> head;
  // slots follow
  RingMemory memory(uint32_t slots, uint32_t start) { return {&head, reinterpret_cast<Slot*>(this + 1), slots, start}; }
  static uint64_t bytes(uint32_t slots) { return sizeof(DataRing) + uint64_t{slots} * kSlotBytes; }
};

}  // namespace lci
