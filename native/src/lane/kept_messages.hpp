// SPDX-License-Identifier: Apache-2.0
// Messages that a loop keeps beyond their record, where they lie: in a packet of their sender, or in memory of their
// own. Each has a number, so that what was given back, and may be another's by now, is not given back again. [V14]
//
// Callers: the thread inside the lane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lci {

class Inbox;
struct InKey;

/// What a message in a record holds until it is given back.
struct Held {
  Inbox* inbox;
  InKey* key;
  std::byte* owned;
  uint64_t charge_bytes;
  uint64_t number;  ///< By which the loop may keep it; 0: it may not.
  uint32_t charge_messages;
  uint32_t generation;
  uint32_t taken;
  uint32_t packet;
};

class KeptMessages {
 public:
  /// A number for a message that may be kept; never 0.
  uint64_t reserve() {
    if (free_.empty()) {
      entries_.push_back({});
      free_.reserve(entries_.capacity());  // so that giving back needs no memory
      free_.push_back(static_cast<uint32_t>(entries_.size()));
    }
    const uint32_t slot = free_.back();
    free_.pop_back();
    return uint64_t{entries_[slot - 1].generation} << 32 | slot;
  }
  /// It is not kept.
  void drop(uint64_t number) { free(static_cast<uint32_t>(number)); }
  void keep(const Held& held) {
    Entry& entry = entries_[static_cast<uint32_t>(held.number) - 1];
    entry.kept = true;
    entry.held = held;
  }
  /// False: it is not kept, or was taken before.
  bool take(uint64_t number, Held* out) {
    const auto slot = static_cast<uint32_t>(number);
    if (slot == 0 || slot > entries_.size()) return false;
    Entry& entry = entries_[slot - 1];
    if (!entry.kept || entry.generation != number >> 32) return false;
    *out = entry.held;
    free(slot);
    return true;
  }
  /// Takes whatever is kept.
  template <typename F>
  void take_all(F visit) {
    for (uint32_t slot = 1; slot <= entries_.size(); ++slot) {
      if (!entries_[slot - 1].kept) continue;
      visit(entries_[slot - 1].held);
      free(slot);
    }
  }

 private:
  struct Entry {
    Held held;
    uint32_t generation;
    bool kept;
  };

  void free(uint32_t slot) {
    entries_[slot - 1].kept = false;
    ++entries_[slot - 1].generation;
    free_.push_back(slot);
  }

  std::vector<Entry> entries_;
  std::vector<uint32_t> free_;
};

}  // namespace lci
