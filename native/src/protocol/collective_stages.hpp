// SPDX-License-Identifier: Apache-2.0
// Memory that peers read: what a call sends to several members and has where they do not see it is copied there once,
// and not for each. Taken when it is needed first, and kept. Touched only by the owner of the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "transport/memory/own_memory.hpp"

namespace lci {

class CollectiveStages {
 public:
  /// Of each.
  static constexpr uint64_t kBytes = 1 << 20;
  /// Calls of a device that may have one at a time.
  static constexpr size_t kMost = 4;

  explicit CollectiveStages(OwnMemory& memory) : memory_(memory) {}

  /// Null: all are in use, or there is no memory. May throw std::bad_alloc, and has taken nothing then.
  std::byte* take() {
    if (free_.empty() && !make()) return nullptr;
    std::byte* const stage = free_.back();
    free_.pop_back();
    return stage;
  }
  /// Nobody reads it any more, or what is read does not count.
  void give(std::byte* stage) { free_.push_back(stage); }

 private:
  bool make() {
    if (made_ == kMost) return false;
    free_.reserve(kMost);
    const uint64_t offset = memory_.allocate(kBytes);
    if (offset == 0) return false;
    ++made_;
    free_.push_back(memory_.at(offset));
    return true;
  }

  OwnMemory& memory_;
  std::vector<std::byte*> free_;
  size_t made_ = 0;
};

}  // namespace lci
