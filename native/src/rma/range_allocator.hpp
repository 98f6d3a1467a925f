// SPDX-License-Identifier: Apache-2.0
// Ranges of this rank's memory that come and go. What is free is remembered in private memory; its pages are the
// system's. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>

#include "transport/memory/own_memory.hpp"

namespace lci {

class RangeAllocator {
 public:
  explicit RangeAllocator(OwnMemory& memory) : memory_(memory) {}

  /// Offset of a range, a multiple of 64; 0 when memory is refused. The smallest free range that fits, else a new one.
  uint64_t allocate(uint64_t bytes);
  /// Takes a range back, exactly as it was given.
  void release(uint64_t offset, uint64_t bytes);
  /// Bytes in free ranges.
  uint64_t free_bytes() const;

 private:
  struct Free {
    uint64_t bytes;
    bool holes;  ///< Some of its pages were given back to the system.
  };
  using Ranges = std::map<uint64_t, Free>;
  /// Joins it with its neighbours; returns what came out.
  Ranges::iterator insert(uint64_t offset, Free range);

  OwnMemory& memory_;
  Ranges free_;  // by offset
};

}  // namespace lci
